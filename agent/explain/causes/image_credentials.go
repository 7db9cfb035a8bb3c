package causes

import (
	"strings"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// credentialLine is what the kubelet logs about a credential plugin that fails.
var credentialLine = expr(`^Failed (?:to provide credentials for image|getting credential from external registry credential provider)`)

// credentialPluginFails finds images that a registry refuses, and for which a credential plugin gave nothing. The log
// names the image without its tag. The kubelet asks the plugin before each pull, and there may be minutes between them.
func credentialPluginFails(c *Case) (out []Finding) {
	if c.Machine == nil {
		return nil
	}
	for _, f := range c.foundByTable("image.unauthorized") {
		for i := len(c.Machine.Lines) - 1; i >= 0; i-- {
			l := &c.Machine.Lines[i]
			if l.At.Before(c.Since.Add(-slack)) || !credentialLine.in(l.Message, Args{}) || !namesImage(l, f.Args["image"]) {
				continue
			}
			args := Args{"image": f.Args["image"], "container": f.Args["container"], "error": plain(errorOf(l))}
			shown := Evidence{Source: evidence.Log, Where: words.Same(l.Where), Text: words.Same(l.Message + ": " + l.Error), At: l.At}
			one := c.found("image.credentialPluginFails", f.Subject, args, Likely, f.Since, append([]Evidence{shown}, f.Evidence...)...)
			one.Next = f.Next
			out = append(out, one)
			break
		}
	}
	return out
}

// errorOf returns the error that a line logs. Kubelets before v1.34 log it within the message.
func errorOf(l *evidence.Line) string {
	text := l.Error
	if text == "" {
		_, text, _ = strings.Cut(l.Message, ": ")
	}
	return strings.TrimPrefix(text, "failed to get credential from external registry credential provider: ")
}

// namesImage reports whether a line is about an image. It has the name of its repository.
func namesImage(l *evidence.Line, image string) bool {
	name := image
	if i := strings.LastIndexAny(name, ":@"); i > strings.LastIndex(name, "/") {
		name = name[:i]
	}
	text := l.Message + " " + l.Error + " "
	return name != "" && (strings.Contains(text, "for image "+name+":") || strings.Contains(text, "for image "+name+" "))
}

// credentialPluginHangs finds that the kubelet is about to pull an image and does not come to it. What it does before
// takes milliseconds, but for the programs that it runs to get credentials.
func credentialPluginHangs(c *Case) []Finding {
	k := c.innermost(answerLong, "EnsureImageExists")
	if k == nil || !c.Story.Calls {
		return nil
	}
	name := c.containerOf(k)
	args := c.imageArgs(name)
	for key, v := range c.callArgs(k) {
		args[key] = v
	}
	args["container"] = name
	return []Finding{c.found("image.credentialPluginHangs", name, args, Likely, k.Began, c.call(k))}
}

// noCredentials adds to a registry's refusal that the kubelet had no credentials at all, neither of the pod's secrets nor
// of a credential plugin.
func noCredentials(c *Case) (out []Finding) {
	if c.Story == nil {
		return nil
	}
	for _, f := range c.foundByTable("image.unauthorized") {
		for i := range c.Story.Failed {
			k := &c.Story.Failed[i]
			if isCallOf(k, ofFunction("PullImage")) && k.Fields["credentials"] == "0" && k.Fields["image"] == f.Args["image"] {
				shown := c.call(k)
				shown.Text = words.Text("pulled without credentials: no pull secret of the pod and no credential plugin of the node gave any", "拉取时没有凭证：Pod 的拉取 Secret 和节点的凭证插件都没有给出")
				out = append(out, c.found("image.unauthorized", f.Subject, f.Args, f.Confidence, f.Since, shown))
				break
			}
		}
	}
	return out
}
