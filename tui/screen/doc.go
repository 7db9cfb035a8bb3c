// Package screen has the parts of a screen as plain values: what package state
// works out and package view draws. It knows neither events nor terminals.
//
// All texts are in the reader's language and safe to show. Lists hold the rows
// that fit, not all, with Top, the place of the first of them in the whole list,
// and Total, the length of that. A Cursor is the place of the selected one among
// the rows that are there, -1 if it is not among them.
package screen
