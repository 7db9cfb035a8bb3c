// Package gen makes pictures of a terminal for the documentation: text with
// colour sequences in, SVG out. Lines and blocks are drawn as shapes, so that
// they join whatever font the reader has; wide characters take two cells.
package gen
