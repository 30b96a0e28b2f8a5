"""The commands after ``xun``: each module has ``main(argv) -> exit code`` and is imported only when it is called."""
