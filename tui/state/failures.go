package state

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// failure is a reason that the kubelet gives when it could not do something for
// a pod: in two or three words, and in a sentence.
type failure struct{ brief, full probes.Text }

var failures = map[string]failure{
	"ErrImagePull":               {words.Text("image pull failed", "镜像拉取失败"), words.Text("its image cannot be pulled", "镜像拉取失败")},
	"ImagePullBackOff":           {words.Text("image pull failed", "镜像拉取失败"), words.Text("its image cannot be pulled, and the kubelet waits before it tries again", "镜像拉取失败，kubelet 等一会儿再试")},
	"ErrImageNeverPull":          {words.Text("image not on the node", "节点上没有镜像"), words.Text("its image is not on the node and may not be pulled", "节点上没有镜像，而策略又不允许拉取")},
	"InvalidImageName":           {words.Text("image name invalid", "镜像名无效"), words.Text("its image's name is not valid", "镜像名无效")},
	"ImageInspectError":          {words.Text("image unreadable", "镜像无法检查"), words.Text("its image cannot be inspected", "无法检查镜像")},
	"CrashLoopBackOff":           {words.Text("crash loop", "反复崩溃"), words.Text("it ends again and again, and the kubelet waits before it starts it anew", "容器反复退出，kubelet 等一会儿再启动它")},
	"CreateContainerConfigError": {words.Text("config error", "配置有误"), words.Text("its configuration cannot be made", "无法生成它的配置")},
	"CreateContainerError":       {words.Text("create failed", "创建失败"), words.Text("the runtime cannot create it", "运行时无法创建它")},
	"RunContainerError":          {words.Text("start failed", "启动失败"), words.Text("the runtime cannot start it", "运行时无法启动它")},
	"PostStartHookError":         {words.Text("postStart failed", "postStart 失败"), words.Text("its postStart hook failed", "它的 postStart 钩子失败")},
	"CreatePodSandboxError":      {words.Text("sandbox failed", "沙箱失败"), words.Text("its sandbox cannot be created", "无法创建沙箱")},
	"KillContainerError":         {words.Text("kill failed", "停止失败"), words.Text("it cannot be killed", "无法杀掉它")},
	"PreStartHookError":          {words.Text("preparation failed", "准备失败"), words.Text("it cannot be prepared for the start", "启动前的准备失败")},
}

var (
	failedTo  = regexp.MustCompile(`failed to "(\w+)" for "([^"]*)" with (\w+)(?:: (".*))?`)
	unmounted = regexp.MustCompile(`unmounted volumes=\[([^\]]+)\]`)
	ofPod     = regexp.MustCompile(`^[^_"]+_[^("]+\([^)]+\)$`)
	missing   = regexp.MustCompile(`\b(configmap|secret) \\?"([^"\\]*)\\?" not found`)
	// wrapping is what the kubelet and gRPC put around a reason, which says
	// nothing that the sentence around it does not.
	wrapping = regexp.MustCompile(`rpc error: code = \w+ desc = |Failed to create sandbox for pod "[^"]*": |Back-off pulling image "[^"]*": (?:ErrImagePull: )?|` +
		`failed to pull and unpack image "[^"]*": |failed to resolve reference "[^"]*": | for sandbox "[0-9a-f]{64}"|` +
		` \(pod: "[^"]*", container: [^)]*\)| restarting failed container=.*`)
)

// maxReason bounds the part of an error that goes into a sentence.
const maxReason = 160

// because puts an error of a turn into words.
func because(l words.Lang, err string) string {
	if m := failedTo.FindStringSubmatch(err); m != nil {
		what := words.OneLine(m[3])
		if f, ok := failures[m[3]]; ok {
			what = l.In(f.full) + l.Inf(words.Text(" (%s)", "（%s）"), what)
		}
		out := what
		if !ofPod.MatchString(m[2]) {
			out = l.Inf(words.Text("%s: %s", "%s：%s"), target(m[2]), what)
		}
		if why := reasonOf(m[4]); why != "" {
			out += l.In(words.Text(": ", "：")) + why
		}
		return out
	}
	if m := unmounted.FindStringSubmatch(err); m != nil {
		return l.Inf(words.Text("volumes are not mounted: %s", "卷没有挂载：%s"), words.OneLine(m[1]))
	}
	if strings.Contains(err, "network is not ready") {
		return l.In(words.Text("the node's pod network is not ready", "节点的 Pod 网络还没就绪"))
	}
	return words.Cut(words.OneLine(err), maxReason)
}

// briefly is because in a few words.
func briefly(l words.Lang, err string) string {
	if m := failedTo.FindStringSubmatch(err); m != nil {
		f, ok := failures[m[3]]
		switch {
		case !ok:
			return words.OneLine(m[3])
		case strings.Contains(err, "runAsNonRoot"):
			return l.In(words.Text("may not run as root", "不许以 root 运行"))
		case m[3] == "CreateContainerConfigError" && missing.MatchString(err):
			what := missing.FindStringSubmatch(err)
			return l.Inf(words.Text("no %s %s", "没有 %s %s"), what[1], words.OneLine(what[2]))
		}
		return l.In(f.brief)
	}
	if m := unmounted.FindStringSubmatch(err); m != nil {
		return l.Inf(words.Text("not mounted: %s", "未挂载：%s"), words.OneLine(m[1]))
	}
	if strings.Contains(err, "network is not ready") {
		return l.In(words.Text("network not ready", "网络未就绪"))
	}
	return words.Cut(words.OneLine(err), 60)
}

// target is what the kubelet failed to do something for: a container, or a pod,
// which it writes as name_namespace(uid).
func target(s string) string {
	if i := strings.IndexByte(s, '('); i > 0 {
		s = s[:i]
	}
	return words.OneLine(s)
}

// reasonOf is the message of an error, which the kubelet quotes. Further errors
// may follow it.
func reasonOf(quoted string) string {
	if q, err := strconv.QuotedPrefix(quoted); err == nil {
		if s, err := strconv.Unquote(q); err == nil {
			return words.Cut(strings.TrimRight(words.OneLine(wrapping.ReplaceAllString(s, "")), ". "), maxReason)
		}
	}
	return ""
}
