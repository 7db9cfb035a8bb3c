package tours

import (
	"fmt"
	"strings"
)

// Do is a kind of action.
type Do string

const (
	// Create creates what the manifest has, as kubectl create: it changes no
	// object that is there.
	Create Do = "create"
	// Patch changes an object by the JSON patch in the manifest.
	Patch Do = "patch"
	// Resize changes the resources of a pod while it runs: a JSON patch of its
	// subresource resize.
	Resize Do = "resize"
	// Delete deletes an object, as kubectl delete --wait=false.
	Delete Do = "delete"
	// WriteStatic writes the manifest into the directory of static pods.
	WriteStatic Do = "write-static"
	// RemoveStatic takes it out again.
	RemoveStatic Do = "remove-static"
	// Pressure makes a simulated node run short of something; Relieve ends that.
	Pressure Do = "pressure"
	Relieve  Do = "relieve"
)

// Label is the label of everything that a walk makes. Its value names the walk,
// and on the screen the run of it. A walk selects by it, so that no pod of
// others is held, changed or deleted, whatever its name is.
const Label = "podstep.dev/walk"

// Action is something that a walk does, or asks the person to do.
type Action struct {
	Do Do `yaml:"do"`
	// Manifest is what to create or to write, the tour's unless said, or the
	// JSON patch, as YAML.
	Manifest string `yaml:"manifest"`
	// Object is what to change or to delete, as kind/namespace/name, or the name
	// of the file of a static pod, or for pressure what is left, in the words of
	// the kubelet's eviction signals: memory.available=50Mi.
	Object string `yaml:"object"`
	// Grace is terminationGracePeriodSeconds for a deletion; nil leaves it to
	// the pod.
	Grace *int64 `yaml:"grace"`
	// Walk is the value of Label that the action's objects have.
	Walk string `yaml:"-"`
}

// Command is the action as a person would type it into a shell in the lab's
// directory DIR, with file standing for a file that has the manifest. It does
// nothing to objects without the walk's label: the patches test for it.
func (a *Action) Command(dir, file string) string {
	switch a.Do {
	case Create:
		return "kubectl create -f " + file
	case Delete:
		kind, namespace, name := a.Parts()
		out := fmt.Sprintf("kubectl delete %s -n %s -l %s=%s --field-selector metadata.name=%s --wait=false", kind, namespace, Label, a.Walk, name)
		if a.Grace != nil {
			out += fmt.Sprintf(" --grace-period %d", *a.Grace)
		}
		return out
	case Patch, Resize:
		kind, namespace, name := a.Parts()
		resize := ""
		if a.Do == Resize {
			resize = " --subresource resize"
		}
		return fmt.Sprintf("kubectl patch %s %s -n %s%s --type json --patch-file %s", kind, name, namespace, resize, file)
	case WriteStatic:
		return fmt.Sprintf("cp -n %s %s/manifests/%s", file, dir, a.Object)
	case RemoveStatic:
		path := dir + "/manifests/" + a.Object
		return fmt.Sprintf("grep -q '%s: %s' %s && rm %s", Label, a.Walk, path, path)
	case Pressure:
		return fmt.Sprintf("echo %s > %s/pressure", a.Object, dir)
	case Relieve:
		return fmt.Sprintf("rm %s/pressure", dir)
	}
	return ""
}

// Parts are the kind, namespace and name of the object to change or to delete.
func (a *Action) Parts() (kind, namespace, name string) {
	p := strings.SplitN(a.Object, "/", 3)
	if len(p) != 3 {
		return "", "", a.Object
	}
	return p[0], p[1], p[2]
}
