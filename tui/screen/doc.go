// Package screen has the parts of a screen as plain values. Package state works them out and package view draws
// them. Package screen knows neither events nor terminals.
//
// All texts are in the reader's language and safe to show. A list has only the rows that fit. Its Top is the place
// of the first of them in the whole list, and its Total is the length of the whole list. Its Cursor is the index of
// the selected row among the rows that fit, -1 if it is not among them.
package screen
