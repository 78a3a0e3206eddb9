"""Commands that write a file to start from: templates of other tools in our language, a problem of one's own."""
