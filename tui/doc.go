// Package tui is the terminal UI: it takes the news of a session, an agent's or a
// trace file's, gives it to package state, has package view draw it, and turns
// keys into what a person wants.
//
// There is one model. All keys are in one table of actions, which feeds the
// dispatch of keys, the palette, the help page, the footer and docs/keys.md.
// Update does no input or output: what takes time is a command, and a command
// changes nothing of the model but by the message that it ends with.
package tui

//go:generate go run ./keysdoc ../docs/keys.md
