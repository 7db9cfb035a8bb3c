package causes

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// usual is what a pod waits for in a phase, as long as nothing is wrong.
var usual = map[Phase]Wait{
	Unscheduled: {words.Text("It waits for a scheduler to choose a node.", "它在等调度器为它选择节点。"), words.Text("usually less than a second", "通常不到一秒")},
	Bound:       {words.Text("It waits for the kubelet of its node to see it.", "它在等所在节点的 kubelet 看到它。"), words.Text("usually less than a second", "通常不到一秒")},
	Creating:    {words.Text("The kubelet prepares its volumes, its sandbox and its images.", "kubelet 正在准备它的卷、沙箱和镜像。"), words.Text("usually seconds; a large image takes minutes", "通常几秒；大镜像要几分钟")},
	Init:        {words.Text("Its init containers run, one after the other.", "它的 init 容器正在逐个运行。"), words.Text("as long as they need", "取决于它们自己")},
	Starting:    {words.Text("Its containers are being started.", "它的容器正在启动。"), words.Text("usually seconds", "通常几秒")},
	Unready:     {words.Text("Its containers run; it waits for their first health probes.", "它的容器在运行；它在等健康探针第一次成功。"), words.Text("as their health probes say", "取决于健康探针的设置")},
	Terminating: {words.Text("Its containers are being stopped.", "它的容器正在停止。"), words.Text("usually seconds, at most its grace period", "通常几秒，最多到宽限期结束")},
}

// triesAgain is what a pod waits for that has failed a moment ago.
var triesAgain = Wait{words.Text("A step failed, and the kubelet tries again.", "有一步失败了，kubelet 会重试。"), words.Text("usually seconds", "通常几秒")}

// complete adds to a report what is to be said of the state where no cause is found.
func (c *Case) complete(r *Report) {
	if len(r.Findings) > 0 {
		return
	}
	switch r.State {
	case life.Idle:
		r.Findings = c.endedLately()
	case life.Stuck:
		r.Findings = []Finding{c.unexplained()}
	case life.Retrying:
		r.Waits = &triesAgain
	case life.Working, life.Waiting:
		if u, ok := usual[c.Phase]; ok {
			r.Waits = cmp.Or(c.hookWait(), &u)
		}
	}
}

// hookWait returns the wait of a pod whose containers run their preStop hooks. It is nil if
// none is known to run one.
func (c *Case) hookWait() *Wait {
	if !c.terminating() || c.hookIsOver() {
		return nil
	}
	now, _ := c.stopping()
	for _, k := range now {
		if spec := c.specOf(k.Name); spec != nil && spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil {
			name := words.Clean(k.Name)
			return &Wait{
				words.Text("The kubelet runs the preStop hook of container "+name+" before it sends SIGTERM.", "kubelet 在发送 SIGTERM 之前运行容器 "+name+" 的 preStop 钩子。"),
				words.Text("as long as the hook needs, at most the grace period", "取决于钩子，最多到宽限期结束"),
			}
		}
	}
	return nil
}

// longest returns how long a phase may take: a pod that ends may use its grace period, and one
// that starts the time that its health probes give it.
func (c *Case) longest(usual time.Duration) time.Duration {
	switch {
	case c.Spec == nil: // it is known by its story alone
	case c.Phase == Terminating && c.Spec.DeletionGracePeriodSeconds != nil:
		return time.Duration(*c.Spec.DeletionGracePeriodSeconds)*time.Second + usual
	case c.Phase == Unready || c.Phase == Init:
		return kubeapi.Patience(c.Spec) + usual
	}
	return usual
}

// worksOn reports whether a pod is unready only because some of its containers have done
// their work, and are not started again, while others go on: such as in a Job.
func (c *Case) worksOn() bool {
	if c.Phase != Unready || c.Spec == nil || c.Spec.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		return false
	}
	done := false
	for _, k := range c.Spec.Status.ContainerStatuses {
		switch {
		case k.State.Terminated != nil:
			done = true
		case !k.Ready:
			return false
		}
	}
	return done
}

// unexplained makes the finding on a pod, or an owner, that takes too long and for which no cause is found.
func (c *Case) unexplained() Finding {
	if c.Phase == Missing && len(c.Cluster.Owners) > 0 {
		return c.ownerUnexplained(&c.Cluster.Owners[0])
	}
	f := c.found("unexplained", "", Args{"phase": c.Phase.In(words.English), "phaseZh": c.Phase.In(words.Chinese)}, Possible, c.Since)
	if c.Spec != nil {
		f.Evidence = append(f.Evidence, c.status(inStatus, words.Same("phase "+string(c.Spec.Status.Phase)), c.Since))
	}
	if c.Story != nil {
		for i := range c.Story.Open {
			f.Evidence = append(f.Evidence, c.call(&c.Story.Open[i]))
		}
		for i := range c.Story.Failed {
			f.Evidence = append(f.Evidence, c.call(&c.Story.Failed[i]))
		}
	}
	return f
}
