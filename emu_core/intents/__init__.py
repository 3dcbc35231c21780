"""The intent model: from vectors of labelled sentences and of the intents' names to answers, and how far they hold."""
