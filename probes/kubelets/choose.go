package kubelets

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
)

// SeveralError is returned if more than one kubelet could be meant.
type SeveralError struct{ Kubelets []Kubelet }

func (e *SeveralError) Error() string {
	var pids []string
	for _, k := range e.Kubelets {
		pids = append(pids, strconv.Itoa(k.PID))
	}
	return fmt.Sprintf("%d kubelets run here, with the pids %s: name one with --pid", len(pids), strings.Join(pids, ", "))
}

// ErrNone is returned if no kubelet runs here.
var ErrNone = errors.New("no kubelet runs here: run this on a node, or podstep lab for a node of your own")

// Choose returns the one kubelet that a person means without naming one. A kubelet in doubt does not count beside
// one that is sure. If there are several the error is a SeveralError, whose Kubelets Table shows.
func Choose(all []Kubelet) (Kubelet, error) {
	sure := slices.DeleteFunc(slices.Clone(all), func(k Kubelet) bool { return k.Doubt != "" })
	if len(sure) == 0 {
		sure = all
	}
	switch len(sure) {
	case 0:
		return Kubelet{}, ErrNone
	case 1:
		return sure[0], nil
	}
	return Kubelet{}, &SeveralError{sure}
}

// Table lists kubelets for people, one a line below a header.
func Table(all []Kubelet) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "PID\tKIND\tVERSION\tNODE\tRUNTIME")
	for _, k := range all {
		kind := k.Kind
		if k.Woven {
			kind += ", woven"
		}
		fmt.Fprintf(w, "\n%d\t%s\t%s\t%s\t%s", k.PID, kind, known(k.Version), known(k.Node), known(k.RuntimeEndpoint))
	}
	_ = w.Flush()
	return b.String()
}

// known returns a value for people, "-" if it is empty. Control characters in it are for no terminal.
func known(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
