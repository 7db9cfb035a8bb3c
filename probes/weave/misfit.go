package weave

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// fitting returns the steps as far as they fit: without those that lack what they need, and the others without the parts
// that do not fit.
func (t *Target) fitting() (out []*probes.Step) {
	parts := hook.PartsOf(t.Misfits)
	for _, s := range t.Steps {
		if slices.ContainsFunc(parts[s.Name], probes.NeedsPart) {
			continue
		}
		left := s.WithoutParts(parts[s.Name])
		out = append(out, &left)
	}
	return out
}

// misfits finds the expressions that do not compile in this version. For that the compiler gets the package with a line
// directive before each expression, by which its errors name the expression. Where nothing else is wrong, that is all that
// a hook may bring into a function of which only the name is known.
func (c *compile) misfits(t Target, files []File, first int, dir string) ([]hook.Misfit, error) {
	steps, parts := numbered(t.fitting())
	t.Steps, t.Misfits = steps, nil
	_, stdout, _, err := c.compile(t, files, first, dir, "-e")
	if err != nil {
		return nil, err
	}
	return named(parts, stdout), nil
}

// expression stands in a line directive before the number of an expression, and rest behind the expression.
const (
	expression = "podstep-expression-"
	rest       = "podstep-rest"
)

// numbered returns copies of the steps in which a line directive numbers each expression, and what has which number.
func numbered(steps []*probes.Step) (out []*probes.Step, parts []hook.Misfit) {
	for _, s := range steps {
		with := s.ChangeExpressions(func(part, expr string) string {
			parts = append(parts, hook.Misfit{Step: s.Name, Part: part})
			return "/*line " + expression + strconv.Itoa(len(parts)-1) + ":1:1*/" + expr + "/*line " + rest + ":1:1*/"
		})
		out = append(out, &with)
	}
	return out, parts
}

// expressionError is a line of the compiler that names an expression's number.
var expressionError = regexp.MustCompile(`(?m)` + expression + `(\d+):\d+(?::\d+)?: (.*)$`)

// named returns the expressions that the compiler's errors name, each with the first error.
func named(parts []hook.Misfit, stdout []byte) (out []hook.Misfit) {
	for _, m := range expressionError.FindAllSubmatch(stdout, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil || n >= len(parts) {
			continue
		}
		found := parts[n]
		if slices.ContainsFunc(out, func(m hook.Misfit) bool { return m.Step == found.Step && m.Part == found.Part }) {
			continue
		}
		found.Why = string(m[2])
		out = append(out, found)
	}
	return out
}
