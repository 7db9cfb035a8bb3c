package causes

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/probes/words"
)

// usual is how long a pod may be in a phase before that alone is worth a word, and what the pod
// waits for meanwhile.
var usual = map[Phase]struct {
	longest time.Duration
	wait    Wait
}{
	Unscheduled: {30 * time.Second, Wait{words.Text("It waits for a scheduler to choose a node.", "它在等调度器为它选择节点。"), words.Text("usually less than a second", "通常不到一秒")}},
	Bound:       {30 * time.Second, Wait{words.Text("It waits for the kubelet of its node to see it.", "它在等所在节点的 kubelet 看到它。"), words.Text("usually less than a second", "通常不到一秒")}},
	Creating:    {2 * time.Minute, Wait{words.Text("The kubelet prepares its volumes, its sandbox and its images.", "kubelet 正在准备它的卷、沙箱和镜像。"), words.Text("usually seconds; a large image takes minutes", "通常几秒；大镜像要几分钟")}},
	Init:        {5 * time.Minute, Wait{words.Text("Its init containers run, one after the other.", "它的 init 容器正在逐个运行。"), words.Text("as long as they need", "取决于它们自己")}},
	Starting:    {2 * time.Minute, Wait{words.Text("Its containers are being started.", "它的容器正在启动。"), words.Text("usually seconds", "通常几秒")}},
	Unready:     {2 * time.Minute, Wait{words.Text("Its containers run; it waits for their first health probes.", "它的容器在运行；它在等健康探针第一次成功。"), words.Text("as their health probes say", "取决于健康探针的设置")}},
	Terminating: {90 * time.Second, Wait{words.Text("Its containers are being stopped.", "它的容器正在停止。"), words.Text("usually seconds, at most its grace period", "通常几秒，最多到宽限期结束")}},
}

// judge sets the verdict by the findings. Without any, it goes by how long the pod has been in its phase.
func (c *Case) judge(r *Report) {
	if len(r.Findings) > 0 {
		r.Verdict = Stuck
		return
	}
	u, onItsWay := usual[c.Phase]
	switch {
	case c.Phase == Ready || c.worksOn():
		r.Verdict, r.Findings = OK, c.endedLately()
	case c.Phase == Ended || c.Phase == Refused:
		r.Verdict = Done
	case c.Phase == Missing:
		r.Verdict = Unknown
	case onItsWay && c.Age() <= c.longest(u.longest):
		r.Verdict, r.Waits = Young, cmp.Or(c.hookWait(), &u.wait)
	default:
		r.Verdict = Stuck
		r.Findings = []Finding{c.unexplained()}
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
		return c.probing() + usual
	}
	return usual
}

// probing returns how long the health probes of a pod's containers let the pod take to be ready.
func (c *Case) probing() (longest time.Duration) {
	for _, all := range [][]corev1.Container{c.Spec.Spec.InitContainers, c.Spec.Spec.Containers} {
		for i := range all {
			var d time.Duration
			if p := all[i].StartupProbe; p != nil {
				d += budget(p)
			}
			if p := all[i].ReadinessProbe; p != nil {
				d += time.Duration(p.InitialDelaySeconds+max(p.PeriodSeconds, 1)*max(p.SuccessThreshold, 1)) * time.Second
			}
			longest = max(longest, d)
		}
	}
	return longest
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

// unexplained makes the finding on a pod that takes too long and for which no cause is found.
func (c *Case) unexplained() Finding {
	f := c.found("unexplained", "", Args{"phase": string(c.Phase)}, Possible, c.Since)
	if c.Spec != nil {
		f.Evidence = append(f.Evidence, c.status("status", "phase "+string(c.Spec.Status.Phase), c.Since))
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
