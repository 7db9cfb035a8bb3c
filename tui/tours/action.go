package tours

import (
	"fmt"
	"strings"
)

// Do is a kind of action.
type Do string

const (
	// Create creates the objects of the manifest, as kubectl create: it changes no object that is there.
	Create Do = "create"
	// Patch changes an object by the JSON patch in the manifest.
	Patch Do = "patch"
	// Resize changes the resources of a running pod by a JSON patch of its subresource resize.
	Resize Do = "resize"
	// Delete deletes an object, as kubectl delete --wait=false.
	Delete Do = "delete"
	// WriteStatic writes the manifest into the directory of static pods.
	WriteStatic Do = "write-static"
	// RemoveStatic removes that manifest again.
	RemoveStatic Do = "remove-static"
	// Pressure makes a simulated node run short of something; Relieve ends that.
	Pressure Do = "pressure"
	Relieve  Do = "relieve"
)

// Label is a label on everything that a walk makes. Its value names the walk, or on the screen the run of it. A walk
// selects by the label, so that it holds, changes or deletes no pod of others, whatever that pod's name is.
const Label = "podstep.dev/walk"

// Action is something that a walk does, or asks the person to do.
type Action struct {
	Do Do `yaml:"do"`
	// Manifest is what to create or to write, by default the tour's manifest. For a patch it is the JSON patch, as
	// YAML.
	Manifest string `yaml:"manifest"`
	// Object is what to change or to delete, as kind/namespace/name. For a static pod it is the name of the file.
	// For pressure it is what is left, in the words of the kubelet's eviction signals: memory.available=50Mi.
	Object string `yaml:"object"`
	// Grace is terminationGracePeriodSeconds for a deletion; nil leaves it to the pod.
	Grace *int64 `yaml:"grace"`
	// Walk is the value of Label on the action's objects.
	Walk string `yaml:"-"`
}

// Command returns the action as a person would type it into a shell in the lab's directory DIR. file stands for a
// file that has the manifest. The command does nothing to objects without the walk's label: the patches test for it.
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

// Parts returns the kind, namespace and name of the object to change or to delete.
func (a *Action) Parts() (kind, namespace, name string) {
	p := strings.SplitN(a.Object, "/", 3)
	if len(p) != 3 {
		return "", "", a.Object
	}
	return p[0], p[1], p[2]
}
