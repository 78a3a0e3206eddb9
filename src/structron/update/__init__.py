"""Update rules: from what a search found to a change of the weights, each after its paper."""
