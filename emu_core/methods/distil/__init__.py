"""Distillation: a student learns a teacher's similarities from sentences without labels."""
