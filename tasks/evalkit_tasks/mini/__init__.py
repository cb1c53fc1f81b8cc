"""Seeded grammars that write the embedded ``mini_*`` tasks; each module imports only the standard library.

streams        splits, seeds, hold-out: what makes splits disjoint and streams stable
tables         the vocabulary files of the package as rows
lexicon        nouns, verbs, adjectives, places and times in English and Chinese
names          people and places
phrases        noun phrases, rendered in both languages at once
events         clauses of who did what, where and when, with tense, aspect, negation, questions and relative clauses
sentences      all sentence types of the grammar
translation    rows of mini_mt
templates      texts with slots, from which answers, entities and word borders are read off
news           event reports with facts and distracting facts
summaries, questions, entities, segmentation, opinions
               rows of the tasks of these names
source         probabilistic grammars whose entropy is computed in closed form
stories        the grammar of mini_lm
"""
