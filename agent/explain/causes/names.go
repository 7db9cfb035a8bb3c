package causes

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// imageNamed is the image that a message is about: that of an image volume if it names
// one of the pod's, otherwise the container's own.
func (c *Case) imageNamed(message, own string) string {
	if c.Spec == nil {
		return own
	}
	for _, v := range c.Spec.Spec.Volumes {
		if v.Image != nil && v.Image.Reference != "" && strings.Contains(message, v.Image.Reference) && !strings.Contains(message, `"`+own+`"`) {
			return v.Image.Reference
		}
	}
	return own
}

// containerOf is the container that a call is about: the one that it names, or the
// only one that has its image.
func (c *Case) containerOf(k *evidence.Call) string {
	if name := k.Fields["container"]; name != "" || k.Fields["image"] == "" || c.Spec == nil {
		return name
	}
	name := ""
	for _, all := range [][]corev1.Container{c.Spec.Spec.InitContainers, c.Spec.Spec.Containers} {
		for i := range all {
			if strings.TrimSuffix(k.Fields["image"], ":latest") != strings.TrimSuffix(all[i].Image, ":latest") {
				continue
			}
			if name != "" {
				return ""
			}
			name = all[i].Name
		}
	}
	return name
}
