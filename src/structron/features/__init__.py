"""From a user's sentences to numbered features: templates, atoms, attributes, gazetteers, features of documents."""
