// Package picture turns terminal text with colour sequences into SVG pictures. It draws lines and blocks as shapes,
// so that they join in whatever font the reader has. Wide characters take two cells.
package picture
