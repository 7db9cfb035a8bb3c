package causes

import (
	"regexp"
	"slices"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Right is a right at the API server that the person does not have, and what podstep would see with it.
type Right struct {
	Right string // such as: list events -n shop
	Adds  probes.Text
}

// refusedRight is how the API server says which right is missing.
var refusedRight = regexp.MustCompile(`cannot (\w+) resource "([^"]+)" in API group "[^"]*"(?: in the namespace "([^"]+)")?`)

// MissingRights returns the rights that would show more, each once, out of what could not be seen.
func MissingRights(unseen []evidence.Unseen) (out []Right) {
	for _, u := range unseen {
		m := refusedRight.FindStringSubmatch(u.Message)
		if u.Why != evidence.Forbidden || m == nil {
			continue
		}
		r := Right{Right: m[1] + " " + m[2], Adds: RightAdds(m[2])}
		if m[3] != "" {
			r.Right += " -n " + m[3]
		}
		if r.Adds != (probes.Text{}) && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// RightAdds returns what the right to read a resource adds to an answer; empty: it is none that podstep reads.
func RightAdds(resource string) probes.Text {
	for _, a := range added {
		if slices.Contains(a.resources, resource) {
			return a.text
		}
	}
	return probes.Text{}
}

// added are the texts, by what the API server calls the resources.
var added = []struct {
	resources []string
	text      probes.Text
}{
	{[]string{"nodes/proxy"}, words.Text("whether the kubelet has the pod, its health and settings, and in which function the pod's worker waits", "kubelet 是否有这个 Pod、它的健康和配置、Pod 的 worker 等在哪个函数")},
	{[]string{"pods"}, words.Text("the pod, and other pods that keep it or wait with it", "Pod 本身，以及挡住它或和它一起等待的 Pod")},
	{[]string{"events"}, words.Text("what scheduler, kubelet and controllers complained of", "调度器、kubelet 和控制器报告的问题")},
	{[]string{"nodes"}, words.Text("the node's conditions, taints and room, and which node would take a pod that has none", "节点的状况、污点和余量，以及哪个节点能接收还没有节点的 Pod")},
	{[]string{"leases"}, words.Text("whether the kubelet and the scheduler report in time", "kubelet 和调度器是否按时报到")},
	{[]string{"namespaces"}, words.Text("whether the namespace is being deleted, and its labels for affinities", "命名空间是否正在删除，以及亲和性用到的标签")},
	{[]string{"secrets", "configmaps", "serviceaccounts"}, words.Text("whether what the pod refers to is there, and has the keys", "Pod 引用的对象是否存在、是否有那些键")},
	{[]string{"replicasets", "deployments", "statefulsets", "daemonsets", "jobs", "cronjobs", "replicationcontrollers"}, words.Text("what owns the pod, and whether that goes on", "Pod 属于谁，以及它是否在推进")},
	{[]string{"persistentvolumeclaims", "persistentvolumes", "storageclasses", "volumeattachments", "csinodes", "csidrivers"}, words.Text("whether the pod's volumes are bound and attached, and by which driver", "Pod 的卷是否已绑定和挂接、由哪个驱动负责")},
	{[]string{"resourceclaims", "deviceclasses"}, words.Text("the devices that the pod claims, and who has them", "Pod 申请的设备，以及在谁手里")},
	{[]string{"poddisruptionbudgets", "resourcequotas", "priorityclasses", "runtimeclasses"}, words.Text("whether a budget, a quota or a class that the pod names keeps it", "是否有预算、配额或 Pod 指定的类挡住它")},
	{[]string{"services", "endpointslices", "validatingwebhookconfigurations", "mutatingwebhookconfigurations"}, words.Text("webhooks that refuse the pod's changes, and whether somebody answers for them", "拒绝 Pod 变更的 webhook，以及是否有人应答")},
}
