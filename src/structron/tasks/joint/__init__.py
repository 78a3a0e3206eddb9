"""Tags and chunk labels together."""
