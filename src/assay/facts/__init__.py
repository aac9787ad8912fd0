"""What is true of machine, accelerators, model and software: facts, each with where it comes from."""

from assay.facts.facts import Fact, Facts
from assay.facts.given import facts_of, hardware_facts, library_fact, model_fact

__all__ = ["Fact", "Facts", "facts_of", "hardware_facts", "library_fact", "model_fact"]
