// Package tui is the terminal UI. It takes news from a session, which may be an agent's or a trace file's, and gives
// it to package state. It draws by package view, and turns keys into what a person wants.
//
// There is one model. All keys are in one table of actions, which feeds the
// dispatch of keys, the palette, the help page, the footer and docs/keys.md.
// Update does no input or output. What takes time is a command, and a command changes the model only by the message
// that it ends with.
package tui

//go:generate go -C .. run ./cmd/gen keys
