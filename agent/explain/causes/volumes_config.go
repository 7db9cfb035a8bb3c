package causes

import (
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// configSource is a ConfigMap or a Secret that a volume of the pod is filled from.
type configSource struct {
	volume, name string
	secret       bool
	keys         []string // that the volume asks for; none: all there are
}

// configSources returns those that have to be there, since they are not optional.
func (c *Case) configSources() (out []configSource) {
	for _, v := range c.volumes() {
		switch {
		case v.ConfigMap != nil && !isTrue(v.ConfigMap.Optional):
			out = append(out, configSource{v.Name, v.ConfigMap.Name, false, keysOf(v.ConfigMap.Items)})
		case v.Secret != nil && !isTrue(v.Secret.Optional):
			out = append(out, configSource{v.Name, v.Secret.SecretName, true, keysOf(v.Secret.Items)})
		case v.Projected != nil:
			out = append(out, projectedSources(v.Name, v.Projected)...)
		}
	}
	return out
}

func projectedSources(volume string, p *corev1.ProjectedVolumeSource) (out []configSource) {
	for _, s := range p.Sources {
		switch {
		case s.ConfigMap != nil && !isTrue(s.ConfigMap.Optional):
			out = append(out, configSource{volume, s.ConfigMap.Name, false, keysOf(s.ConfigMap.Items)})
		case s.Secret != nil && !isTrue(s.Secret.Optional):
			out = append(out, configSource{volume, s.Secret.Name, true, keysOf(s.Secret.Items)})
		}
	}
	return out
}

func keysOf(items []corev1.KeyToPath) (out []string) {
	for _, i := range items {
		out = append(out, i.Key)
	}
	return out
}

func isTrue(b *bool) bool { return b != nil && *b }

// kind returns the source's resource in the API, its kind in texts, and the ids of its causes
// without their ends.
func (s *configSource) kind() (resource, kind, id string) {
	if s.secret {
		return "secrets", "Secret", "volumes.secret"
	}
	return "configmaps", "ConfigMap", "volumes.configMap"
}

// known returns what the API server has of the source. It is nil if that is not known, or if
// the source is not there.
func (c *Case) known(s *configSource) *evidence.Keys {
	all := c.Cluster.ConfigMaps
	if s.secret {
		all = c.Cluster.Secrets
	}
	if i := slices.IndexFunc(all, func(k evidence.Keys) bool { return k.Name == s.name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// missingConfig finds ConfigMaps, Secrets and keys of them that are not there and that volumes
// are filled from. The API server knows that at any time. The kubelet says so when it tries, in
// the end every two minutes.
func (c *Case) missingConfig() (out []Finding) {
	errors := c.mountErrors()
	sources := c.configSources()
	if len(c.volumes()) == 0 {
		sources = reportedSources(errors)
	}
	for _, s := range sources {
		_, kind, _ := s.kind()
		args := Args{"volume": s.volume, "subject": s.name, "kind": kind}
		if s.secret {
			args["secret"] = s.name
		} else {
			args["configmap"] = s.name
		}
		if f := c.missingSource(&s, args, errors); f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// sourceNotFound matches the error about a ConfigMap or a Secret that the kubelet did not find.
var sourceNotFound = regexp.MustCompile(`\b(configmap|secret)s? \\*"([^"\\]+)\\*" not found`)

// reportedSources returns the sources that errors name. Where nothing is known of the pod but a story, such as out of a
// log, no spec says what its volumes are filled from.
func reportedSources(errors []mountError) (out []configSource) {
	for i := range errors {
		e := &errors[i]
		m := sourceNotFound.FindStringSubmatch(e.text)
		if m != nil && !slices.ContainsFunc(out, func(s configSource) bool { return s.volume == e.volume }) {
			out = append(out, configSource{volume: e.volume, name: m[2], secret: m[1] == "secret"})
		}
	}
	return out
}

// publishTakes is how long an object may be missing that every new namespace gets, such as
// kube-root-ca.crt, or that is made together with a pod.
const publishTakes = 3 * time.Second

// missingSource finds what is wrong with one source; nil: nothing.
func (c *Case) missingSource(s *configSource, args Args, errors []mountError) *Finding {
	resource, kind, id := s.kind()
	reports := s.reports(errors)
	keys := c.known(s)
	switch {
	case c.isMissing(resource+"/"+s.name) && c.Age() < publishTakes && len(reports) == 0:
		return nil
	case c.isMissing(resource + "/" + s.name):
		return c.lacking(id+"Missing", s.name, args, c.object(words.Same(resource+"/"+s.name), words.With(words.Text("the API server has no %s of this name", "API server 上没有这个名字的 %s"), kind), time.Time{}), reports)
	case keys != nil && keys.Known && s.lacks(keys) != "":
		args["key"] = s.lacks(keys)
		return c.lacking(id+"KeyMissing", s.volume, args, c.object(words.Same(resource+"/"+s.name), words.With(words.Text("it has no key %s", "它没有键 %s"), args["key"]), time.Time{}), reports)
	case len(reports) == 0:
		return nil
	case keys != nil:
		args["subject"] = kind + " " + s.name
		f := c.findMount(volumesBackOff, s.volume, args, &reports[0])
		if reports[0].next.Before(c.Now) && c.Now.Sub(reports[0].shown.At) > longestBackOff+operationTakes {
			return nil
		}
		return &f
	case reports[0].key() != "":
		args["key"] = reports[0].key()
		f := c.findMount(id+"KeyMissing", s.volume, args, &reports[0])
		return &f
	default:
		f := c.findMount(id+"Missing", s.name, args, &reports[0])
		return &f
	}
}

// lacking makes a finding on an object or a key that the API server does not have, with the
// kubelet's reports of it.
func (c *Case) lacking(id, subject string, args Args, shown Evidence, reports []mountError) *Finding {
	f := c.found(id, subject, args, Certain, c.Since, shown)
	for i := range reports {
		f.Evidence = append(f.Evidence, reports[i].shown)
		if f.Next.IsZero() {
			f.Next = reports[i].next
		}
	}
	return &f
}

// lacks returns the first key that the volume asks for and the source does not have.
func (s *configSource) lacks(have *evidence.Keys) string {
	for _, k := range s.keys {
		if !slices.Contains(have.Keys, k) {
			return k
		}
	}
	return ""
}

var noSuchKey = regexp.MustCompile(`references non-existent (?:config|secret) key: ([^\s,\]]+)`)

// key returns the key that, as the error says, is not there.
func (e *mountError) key() string {
	if m := noSuchKey.FindStringSubmatch(e.text); m != nil {
		return m[1]
	}
	return ""
}

// reports returns the errors that say that the source, or a key of it, is not there.
func (s *configSource) reports(errors []mountError) (out []mountError) {
	noun := "configmap"
	if s.secret {
		noun = "secret"
	}
	notFound := regexp.MustCompile(noun + `s? \\*"` + regexp.QuoteMeta(s.name) + `\\*" not found`)
	for _, e := range errors {
		if e.volume == s.volume && (notFound.MatchString(e.text) || slices.Contains(s.keys, e.key()) && strings.Contains(e.text, strings.TrimSuffix(noun, "map")+" key")) {
			out = append(out, e)
		}
	}
	return out
}
