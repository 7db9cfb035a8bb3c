package causes

import (
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// remountTakes is how long the worker of a pod that runs may wait for its volumes: they are mounted, and it looks at them anew.
const remountTakes = 15 * time.Second

// behindVolumes finds a pod that runs and of which the kubelet changes nothing, since its worker waits for a volume that has to be
// mounted once more, as all volumes are after a restart of the kubelet.
func behindVolumes(c *Case) []Finding {
	if c.Story == nil || c.Phase != Ready {
		return nil
	}
	calls := c.Story.Open
	i := slices.IndexFunc(calls, func(k evidence.Call) bool { return isCallOf(&k, ofFunction("WaitForAttachAndMount")) })
	if i < 0 || c.Now.Sub(calls[i].Began) < remountTakes {
		return nil
	}
	waits := &calls[i]
	seen := []Evidence{c.call(waits)}
	detail := words.Text("Nothing shows which volume that is.", "看不出是哪个卷。")
	mount := slices.IndexFunc(calls, func(k evidence.Call) bool { return isCallOf(&k, ofFunction("GenerateMountVolumeFunc")) })
	failed := slices.IndexFunc(c.Story.Failed, func(k evidence.Call) bool { return strings.HasPrefix(k.Error, "MountVolume.") })
	switch {
	case mount >= 0:
		k := &calls[mount]
		detail = words.With(words.Text("It has been mounting volume %s for %s.", "它挂载卷 %s 已经 %s。"), k.Fields["volume"], words.Took(c.Now.Sub(k.Began)))
		seen = append(seen, c.call(k))
	case failed >= 0:
		k := &c.Story.Failed[failed]
		detail = words.With(words.Text("The last try: %s", "最近一次尝试：%s"), plain(k.Error))
		seen = append(seen, c.call(k))
	}
	return []Finding{c.found("ready.behindVolumes", "", Args{"detail": detail.En, "detailZh": detail.Zh}, Certain, waits.Began, seen...)}
}
