"""What every interactive front end shares: the conversation, its questions, the approval dialog, the clipboard.

It imports no UI library."""
