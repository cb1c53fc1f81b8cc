"""How an encoder answers: requests as passages that fit the model, packed reading, and what is read off the hidden states.

passages    tokens to read at once, which of them are asked for, and answers in the order of the requests
fitting     what happens to a text that is longer than the model; overlapping windows
stack       a BERT over packed passages, without padding
labelling   one tag a word
spans       the answer's place in a context, or no answer
classes     one of several classes
gaps        pseudo-log-likelihood: each token hidden once
"""
