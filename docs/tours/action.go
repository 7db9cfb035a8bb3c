package tours

import (
	"fmt"
	"strings"
)

// Do is a kind of action.
type Do string

const (
	// Apply creates or changes what the manifest has, as kubectl apply.
	Apply Do = "apply"
	// Delete deletes an object, as kubectl delete --wait=false.
	Delete Do = "delete"
	// WriteStatic writes the manifest into the directory of static pods.
	WriteStatic Do = "write-static"
	// RemoveStatic takes it out again.
	RemoveStatic Do = "remove-static"
	// Resize changes the resources of a pod while it runs: a patch of its
	// subresource resize.
	Resize Do = "resize"
	// Pressure makes a simulated node run short of something; Relieve ends that.
	Pressure Do = "pressure"
	Relieve  Do = "relieve"
)

// Action is something that a walk does, or asks the person to do.
type Action struct {
	Do Do `yaml:"do"`
	// Manifest is what to apply or to write, the tour's unless said, or the
	// strategic merge patch of a resize.
	Manifest string `yaml:"manifest"`
	// Object is what to delete or to resize, as kind/namespace/name, or the name
	// of the file of a static pod, or for pressure what is left, in the words of
	// the kubelet's eviction signals: memory.available=50Mi.
	Object string `yaml:"object"`
	// Grace is terminationGracePeriodSeconds for a deletion; nil leaves it to
	// the pod.
	Grace *int64 `yaml:"grace"`
}

// Command is the action as a person would type it into a shell in the lab's
// directory DIR, with file standing for a file that has the manifest.
func (a *Action) Command(dir, file string) string {
	switch a.Do {
	case Apply:
		return "kubectl apply -f " + file
	case Delete:
		kind, namespace, name := a.Parts()
		out := fmt.Sprintf("kubectl delete %s %s -n %s --wait=false", kind, name, namespace)
		if a.Grace != nil {
			out += fmt.Sprintf(" --grace-period %d", *a.Grace)
		}
		return out
	case Resize:
		_, namespace, name := a.Parts()
		return fmt.Sprintf("kubectl patch pod %s -n %s --subresource resize --patch-file %s", name, namespace, file)
	case WriteStatic:
		return fmt.Sprintf("cp %s %s/manifests/%s", file, dir, a.Object)
	case RemoveStatic:
		return fmt.Sprintf("rm %s/manifests/%s", dir, a.Object)
	case Pressure:
		return fmt.Sprintf("echo %s > %s/pressure", a.Object, dir)
	case Relieve:
		return fmt.Sprintf("rm %s/pressure", dir)
	}
	return ""
}

// Parts are the kind, namespace and name of the object to delete.
func (a *Action) Parts() (kind, namespace, name string) {
	p := strings.SplitN(a.Object, "/", 3)
	if len(p) != 3 {
		return "", "", a.Object
	}
	return p[0], p[1], p[2]
}
