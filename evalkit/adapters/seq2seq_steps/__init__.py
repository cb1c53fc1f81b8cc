"""How the engine runs an encoder-decoder: it reads a prompt by the encoder, and appends tokens by the decoder.

runs     sequences of many lengths as one run of tokens, and laid apart where attention needs it
cache    keys and values of running answers, and of their sources, which the beams of a prompt share
layers   the blocks of T5, one run of tokens through each part
steps    a T5 behind the interface that generation and scoring use
"""
