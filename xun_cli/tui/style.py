"""The style sheet: no colours but the terminal's own, nothing that a change of focus would restyle."""

from __future__ import annotations

CSS = """
Screen, ScrollArea, LineArea, FilledArea, Input, Composer {
    background: ansi_default;
    color: ansi_default;
}
Screen { layers: base over; overflow: hidden; }
#main { height: 1fr; }
#transcript {
    width: 1fr;
    height: 1fr;
    padding: 0 0 0 1;
    overflow-x: hidden;
    overflow-y: scroll;
}
#transcript, #composer, #field {
    scrollbar-size-vertical: 1;
    scrollbar-color: ansi_bright_black;
    scrollbar-color-hover: ansi_bright_black;
    scrollbar-color-active: ansi_default;
    scrollbar-background: ansi_default;
    scrollbar-background-hover: ansi_default;
    scrollbar-background-active: ansi_default;
}
#side { width: 34; padding: 0 1; border-left: solid ansi_bright_black; display: none; }
#side.alone { border: none; }
#working, #dialog, #status { padding: 0 1; }
#menu { padding: 0 1; }
#input { height: auto; padding: 0 1; border: round ansi_bright_black; }
#input.narrow { border: none; padding: 0 1; }
#prompt { width: 2; height: 1; }
#composer, #field {
    height: auto;
    width: 1fr;
    padding: 0;
    border: none;
    overflow-x: hidden;
}
Input .text-area--placeholder, Composer .text-area--placeholder { color: ansi_default; text-style: dim; }
#over { layer: over; width: 100%; height: 100%; display: none; }
"""
