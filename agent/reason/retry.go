package reason

import (
	"encoding/json"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// kinds are the names of what may be in back-off, as the catalogue's fields have them.
var kinds = map[string]probes.Text{
	"container": text("container", "容器"), "image": text("image", "镜像"), "volume": text("volume", "卷"),
}

// InBackOff returns what was in back-off, by the field of its step: a container, an image, or volumes by their names in the pod.
func InBackOff(f *agentpb.Field) (kind, name string) {
	var names []string
	if json.Unmarshal([]byte(f.GetJson()), &names) == nil {
		return f.GetName(), strings.Join(names, ", ")
	}
	return f.GetName(), f.GetText()
}

// Retried returns what a retry of a pod came to.
func Retried(pod string, r *agentpb.RetryResponse) probes.Text {
	e := r.GetEnded()
	switch {
	case e == nil && r.GetOver():
		return words.With(text("%s was in no back-off; the kubelet has synced it, in turn %d", "%s 没有处于退避；kubelet 已在第 %d 轮同步了它"), pod, r.GetSync())
	case e == nil:
		return words.With(text("%s has come to no back-off yet in turn %d, which goes on; a back-off that it comes to is ended", "%s 在第 %d 轮中还没有遇到退避，这一轮仍在进行；遇到的退避会被结束"), pod, r.GetSync())
	}
	kind, name := InBackOff(e.GetOf())
	named, ok := kinds[kind]
	if !ok {
		named = words.Same(kind)
	}
	return words.With(text("%s: the kubelet tries again now: the back-off%s of %s %s is ended, in turn %d", "%[1]s：kubelet 现在重试：第 %[5]d 轮结束了%[3]s %[4]s 的退避%[2]s"),
		pod, length(e.GetLength().AsDuration()), named, name, r.GetSync())
}
