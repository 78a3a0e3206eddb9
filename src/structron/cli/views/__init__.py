"""Commands that show: two models side by side, which labels are taken for which, a beam, a history of training."""
