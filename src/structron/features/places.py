"""What a token can be to a segment of tokens: the kinds of features that segments.py makes and beams add up."""

BEFORE, AFTER, LAST, PAIR, TRIPLE, AT = range(6)
"""The token before the segment, the one after it, its last one, the later of two or three neighbours inside, and from
AT on its first token, its second …, then the first of a segment of one token, of two …"""
