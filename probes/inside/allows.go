package inside

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/park"
)

// Known is what is known of the program's functions.
type Known struct {
	// NotWithin are functions under which no goroutine is held, in addition to those of a place. A function literal
	// belongs to the function that it is in.
	NotWithin map[string]bool
	// Packages are the packages of which it is known which functions have a lock.
	Packages map[string]bool
}

// Refuses refuses to hold a goroutine here that has these functions under way. The first is the place's own function.
// It may be one within which no goroutine is held: at its entry it has done nothing yet, and at its exit it has done
// all. A place without Within is not about a kubelet's goroutines: its functions may be of any package.
func (p Place) Refuses(functions []string, known Known) *park.RefusedError {
	not := &park.RefusedError{Reason: NotWithin, Text: "the goroutine is not one that may be held there"}
	forbids := func(f string) bool {
		return probes.IsInFunction(f, func(name string) bool { return known.NotWithin[name] || slices.Contains(p.NotWithin, name) })
	}
	if len(p.Within) == 0 {
		if slices.ContainsFunc(functions, forbids) {
			return not
		}
		return nil
	}
	within := slices.IndexFunc(functions, func(f string) bool { return slices.Contains(p.Within, f) })
	if within < 0 {
		return not
	}
	between := functions[min(1, within):within]
	if slices.ContainsFunc(between, forbids) {
		return not
	}
	for _, f := range between {
		if !known.Packages[PackageOf(f)] {
			return &park.RefusedError{Reason: NotKnown, Text: "it is not known whether " + f + " has a lock, for which others may wait"}
		}
	}
	return nil
}

// PackageOf is the path of a function's package.
func PackageOf(function string) string {
	name, _, _ := strings.Cut(function, "[")
	slash := strings.LastIndexByte(name, '/') + 1
	in, _, _ := strings.Cut(name[slash:], ".")
	return name[:slash] + in
}
