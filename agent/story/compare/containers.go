package compare

import (
	"slices"
	"strings"
)

// paired returns two stories in which containers that do the same work have one name. Containers with one name belong
// together. Of the others those that came last do, then those before them: init containers come first, and each pod has
// at least one other.
func paired(a, b *Story) (*Story, *Story) {
	ofA, ofB := containers(a), containers(b)
	common := func(name string) bool { return slices.Contains(ofA, name) && slices.Contains(ofB, name) }
	onlyA, onlyB := slices.DeleteFunc(slices.Clone(ofA), common), slices.DeleteFunc(slices.Clone(ofB), common)
	inA, inB := map[string]string{}, map[string]string{}
	for len(onlyA) > 0 && len(onlyB) > 0 {
		x, y := onlyA[len(onlyA)-1], onlyB[len(onlyB)-1]
		onlyA, onlyB = onlyA[:len(onlyA)-1], onlyB[:len(onlyB)-1]
		inA[containerMark+x] = containerMark + x + "/" + y
		inB[containerMark+y] = containerMark + x + "/" + y
	}
	return a.renamed(inA), b.renamed(inB)
}

// containers returns the names of a story's containers, in the order in which they first come.
func containers(s *Story) (out []string) {
	for i := range s.Steps {
		if name, is := strings.CutPrefix(s.Steps[i].Of, containerMark); is && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// renamed returns the story with other names for what its steps are about.
func (s *Story) renamed(names map[string]string) *Story {
	if len(names) == 0 {
		return s
	}
	out := *s
	out.Steps = slices.Clone(s.Steps)
	for i := range out.Steps {
		if name, has := names[out.Steps[i].Of]; has {
			out.Steps[i].Of = name
		}
	}
	return &out
}
