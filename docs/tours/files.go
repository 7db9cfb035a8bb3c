// Package tours holds the guided walks through the kubelet's pod pipeline as
// data: order.yaml names them in the order in which they are best taken, and
// each is a file in walk. Package tui/tours reads them and documents the
// format.
//
// seeds.yaml names what the walks must show between them, and testdata/stories
// has the events that a lab recorded while each walk was walked. Both are read
// by the tests of tui/tours.
package tours

import "embed"

// Files are order.yaml and the directory walk.
//
//go:embed order.yaml walk
var Files embed.FS
