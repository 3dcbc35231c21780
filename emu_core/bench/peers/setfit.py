"""SetFit (Tunstall et al. 2022), by its own package."""

import math
import tempfile

import numpy as np

from emu_core.bench.costs import now, since
from emu_core.bench.peers.sentence_model import SentenceModel, check_packages
from emu_core.bench.peers.system import Budget, System
from emu_core.data.labelled import LabelledSet
from emu_core.threads import one_thread_for_small_products

SETFIT_PAIRS = 20  # R of Tunstall et al. 2022: so many pairs of each sort a sentence


def setfit_peer(sentences: SentenceModel, labelled: LabelledSet, budget: Budget) -> System:
    """Train the encoder on sampled pairs with a cosine loss, then logistic regression over its vectors.

    R = 20 pairs of each sort a sentence, stopped after as many sentence passes as the budget's epochs have.

    Args:
        sentences: the model, trained in place.
        labelled: sentences of the training languages.
        budget: what it may use.

    Raises:
        TrainingError: a package is missing.
    """
    check_packages("setfit", "datasets")
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments
    from sklearn.linear_model import LogisticRegression

    texts = sentences.texts(labelled.frame["text"].tolist())
    intents = labelled.intents
    number = {intent: i for i, intent in enumerate(intents)}
    data = Dataset.from_dict(
        {"text": texts, "label": [number[intent] for intent in labelled.frame["intent"]]}
    )
    steps = math.ceil(budget.epochs * len(texts) / (2 * budget.batch_size))  # a pair is two passes
    model = SetFitModel(model_body=sentences.model, model_head=LogisticRegression())
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            batch_size=budget.batch_size,
            num_epochs=1,
            max_steps=steps,
            num_iterations=SETFIT_PAIRS,
            body_learning_rate=budget.learning_rate,
            seed=budget.seed,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            show_progress_bar=False,
        )
        trainer = Trainer(model=model, args=arguments, train_dataset=data)
        start = now()
        with one_thread_for_small_products():  # the head's; torch trains the encoder as before
            trainer.train()
        took = since(start)
    sentences.model.eval()

    def classify(texts: list[str]) -> list[str]:
        found = np.asarray(model.model_head.predict(sentences.encode(texts)))
        return [intents[int(i)] for i in found]

    done = min(steps * budget.batch_size, 2 * SETFIT_PAIRS * len(texts))
    return System(
        sentences.encode,
        classify=lambda texts: classify(list(texts)),
        took=took,
        facts={"sentence_passes": 2 * done},
    )
