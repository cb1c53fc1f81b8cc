"""How requests become tensors and tensors become answers, for all adapters of neural models.

batching     which sequences go together, what happens when memory runs out, and the order of the answers
overflow     what happens to a prompt that is longer than the model
packing      sequences of many lengths as one run of tokens, without padding
linear       one linear layer, by the fastest kernel that gives its values
cache        keys and values of running sequences, in buffers allocated once
stack        a causal model as the engine runs it: read whole prompts, or one token of each sequence
generation   continuous batching: a finished sequence leaves, the next prompt takes its place
choosing     the next token: most probable, or sampled
beams        the next tokens of beam search
stops        where a generated text ends
scoring      log-probabilities of given tokens
"""
