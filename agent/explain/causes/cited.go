package causes

import (
	"regexp"
	"strings"
)

// Citation is a function, a method or a type of Kubernetes' source that a cause cites.
type Citation struct {
	File string // or a directory: in k8s.io/kubernetes, or with its module
	Name string // F, T.M, (*T).M, M or T; empty: the file alone is cited
}

// ofSource is how a file or a directory of Kubernetes' source is cited.
var ofSource = regexp.MustCompile(`^(pkg|cmd|plugin|staging|k8s\.io)/|^\S+\.go$`)

// Cited returns what a cause cites of Kubernetes' source in its Where: "FILE: FUNCTION, FUNCTION (DETAIL); FILE". All else that
// stands there, such as a call of the CRI, a field or the program in the container, is left out.
func (c *Cause) Cited() (out []Citation) {
	for _, part := range strings.Split(c.Where, "; ") {
		file, names, _ := strings.Cut(part, ": ")
		if !ofSource.MatchString(file) {
			continue
		}
		for _, name := range strings.Split(names, ", ") {
			name, _, _ = strings.Cut(name, " (")
			out = append(out, Citation{file, name})
		}
	}
	return out
}
