package agentpb

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// ErrPodForm is returned by ParsePods for a text that is not of the form NAME, NAMESPACE/NAME or pod/NAME.
var ErrPodForm = errors.New("write a pod as NAME or NAMESPACE/NAME")

// The names that the API server allows: DNS labels, joined by dots for pods.
var (
	plainName      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	plainNamespace = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	globName       = regexp.MustCompile(`^[-a-z0-9.*?\[\]^\\]+$`)
)

// ParsePods reads a selector as a person writes it: NAME, NAMESPACE/NAME, or pod/NAME as kubectl prints it. Names may
// be globs; "" is any pod. A namespace called pod, pods or po cannot be given so.
func ParsePods(s string) (*PodSelector, error) {
	sel := &PodSelector{Name: s}
	if s == "" {
		return sel, nil
	}
	if before, name, two := strings.Cut(s, "/"); two {
		if before == "" || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%q is not the name of a pod; %w", s, ErrPodForm)
		}
		sel.Name = name
		if before != "pod" && before != "pods" && before != "po" {
			sel.Namespace = before
		}
	}
	if err := checkName("pod", sel.Name, plainName, 253); err != nil {
		return nil, err
	}
	return sel, CheckNamespace(sel.Namespace)
}

// CheckNamespace returns an error for a text that is neither the name of a namespace nor a glob for one; "" is any
// namespace.
func CheckNamespace(name string) error {
	if name == "" {
		return nil
	}
	return checkName("namespace", name, plainNamespace, 63)
}

func checkName(what, name string, plain *regexp.Regexp, most int) error {
	if isGlob(name) {
		if _, err := path.Match(name, ""); err != nil || !globName.MatchString(name) {
			return fmt.Errorf("%q is not a glob for names of %ss; globs are like web-* or db-[0-2]", name, what)
		}
		return nil
	}
	if len(name) > most || !plain.MatchString(name) {
		return fmt.Errorf("%q is not the name of a %s; names have small letters, digits, dashes, and at most %d characters", name, what, most)
	}
	return nil
}

func isGlob(s string) bool { return strings.ContainsAny(s, `*?[]\^`) }

// HasGlob reports whether the selector may mean pods of several names.
func (p *PodSelector) HasGlob() bool { return isGlob(p.GetName()) || isGlob(p.GetNamespace()) }

// IsNamed reports whether the selector names pods, by name, uid or labels, and not all of a namespace or of the node.
func (p *PodSelector) IsNamed() bool {
	return strings.Trim(p.GetName(), "*") != "" || p.GetUid() != "" || len(p.GetLabels()) > 0
}

// Written returns the selector as a person would write it, e.g. "default/web" or "any pod of default". It has the uid
// only where there is no name, and no labels.
func (p *PodSelector) Written() string {
	switch namespace, name := p.GetNamespace(), p.GetName(); {
	case name == "" && p.GetUid() != "":
		return "uid " + p.GetUid()
	case name == "" && namespace == "":
		return "any pod"
	case name == "":
		return "any pod of " + namespace
	case namespace == "":
		return name
	default:
		return namespace + "/" + name
	}
}

// Selects reports whether the selector's name and namespace mean a pod. It ignores uids and labels.
func (p *PodSelector) Selects(namespace, name string) bool {
	return fits(p.GetNamespace(), namespace) && fits(p.GetName(), name)
}

func fits(glob, s string) bool {
	ok, err := path.Match(glob, s)
	return glob == "" || err == nil && ok
}
