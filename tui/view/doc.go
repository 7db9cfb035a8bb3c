// Package view draws a screen: it lays out what package state worked out and
// gives it glyphs and colours. It is pure: the same screen, size and styles give
// the same text. It reads no keys, keeps nothing between two frames and knows no
// clock.
//
// A frame is drawn on a grid of cells that is as large as the terminal. So a line is never too long, a wide
// character is never cut in half, and a part on top covers what is beneath. Each part notes, while it is drawn,
// where it is on the screen. The mouse needs that.
//
// Colours are only in styles.go, glyphs only in glyphs.go, and words of its own
// only in words.go. What a thing means never shows by colour alone.
package view
