package recording

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Healthy stands in place of a cause for pods with which nothing is wrong.
const Healthy = "healthy"

// Proofs say how a snapshot came about, the best first: on a real node, on a simulated one, or
// written by hand after the kubelet's source.
var Proofs = []string{"node", "lab", "made"}

// File is what the name of a recorded snapshot says, which is
// CAUSE/PROOF-WAY[+WAY...][-NAME].EXT.
type File struct {
	// Cause is the id of the cause that is named first, or Healthy.
	Cause string
	// Proof is one of Proofs.
	Proof string
	// Ways are the ways of looking that name the cause, the least first. The last one saw all
	// of the snapshot.
	Ways []Way
	// Name tells several snapshots of a cause apart. It is empty if there is one.
	Name string
}

// Parse reads the path of a recorded snapshot.
func Parse(path string) (File, error) {
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	proof, rest, _ := strings.Cut(base, "-")
	ways, name, _ := strings.Cut(rest, "-")
	f := File{Cause: filepath.Base(filepath.Dir(path)), Proof: proof, Name: name}
	for way := range strings.SplitSeq(ways, "+") {
		f.Ways = append(f.Ways, Way(way))
	}
	known := func(w Way) bool { return slices.Contains(Ways, w) }
	if !slices.Contains(Proofs, proof) || slices.ContainsFunc(f.Ways, func(w Way) bool { return !known(w) }) {
		return File{}, fmt.Errorf("%s is not named PROOF-WAY[+WAY...][-NAME]", path)
	}
	return f, nil
}

// path returns where a recorder writes the snapshot, below a directory.
func (f *File) path(dir string) string {
	ways := make([]string, len(f.Ways))
	for i, w := range f.Ways {
		ways[i] = string(w)
	}
	name := strings.TrimSuffix(f.Proof+"-"+strings.Join(ways, "+")+"-"+f.Name, "-")
	return filepath.Join(dir, f.Cause, name+".json")
}
