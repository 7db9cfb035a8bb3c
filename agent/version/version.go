// Package version knows which podstep a program is, for clients and agents
// alike.
package version

import (
	"runtime/debug"
	"slices"
	"strings"
)

// module is the path of podstep's module. The lab's module is below it, and is tagged with the same version.
const module = "github.com/podstep/podstep"

// stamped is the version of a release, such as v0.1.0. The linker sets it (release/build.go); elsewhere it is empty.
var stamped string

// Own returns podstep's version in this program: the one that a release has linked in, or else as the go command recorded
// it: the tag that was built, such as v0.1.0, or a version made of the commit, such as
// v0.0.0-20261122101341-90e25be5cc2b, or "(devel)" if it recorded none.
func Own() string {
	if stamped != "" {
		return stamped
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		return recorded(b)
	}
	return unknown
}

const unknown = "(devel)"

// recorded returns the version of podstep in a build of one of its modules, or of a program that links it.
func recorded(b *debug.BuildInfo) string {
	if strings.HasPrefix(b.Main.Path, module+"/") && b.Main.Version != "" {
		return b.Main.Version // the podstep that it links is the one of the same commit
	}
	modules := append([]*debug.Module{&b.Main}, b.Deps...)
	i := slices.IndexFunc(modules, func(m *debug.Module) bool { return m.Path == module })
	if i < 0 || modules[i].Version == "" {
		return unknown
	}
	return modules[i].Version
}
