package simcri

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/distribution/reference"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// pullFaults are the errors with which registries and runtimes refuse an image, in their words. The kubelet passes on
// errors with the code Unknown without the code, and knows the last two by how they begin.
var pullFaults = map[string]func(name reference.Named) error{
	"not-found": func(n reference.Named) error {
		return status.Errorf(codes.NotFound, "%s: %s: not found", resolving(n), n)
	},
	"unauthorized": func(n reference.Named) error {
		return status.Errorf(codes.Unknown, "%s: pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed", resolving(n))
	},
	"rate-limited": func(n reference.Named) error {
		return status.Errorf(codes.Unknown, "%s: unexpected status from HEAD request to %s: 429 Too Many Requests\ntoomanyrequests: You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit", resolving(n), manifestURL(n))
	},
	"no-network": func(n reference.Named) error {
		host := reference.Domain(n)
		return status.Errorf(codes.Unknown, "%s: failed to do request: Head %q: dial tcp: lookup %s: no such host", resolving(n), manifestURL(n), host)
	},
	"hang": nil,
	"unavailable": func(n reference.Named) error {
		return status.Errorf(codes.Unknown, "RegistryUnavailable: %s: received unexpected HTTP status: 503 Service Unavailable", manifestURL(n))
	},
	"signature": func(n reference.Named) error {
		return status.Errorf(codes.Unknown, "SignatureValidationFailed: Source image rejected: A signature was required, but no signature exists for %s", n)
	},
}

func pullKinds() string {
	return "one of " + strings.Join(slices.Sorted(maps.Keys(pullFaults)), ", ")
}

func resolving(n reference.Named) string {
	return fmt.Sprintf("failed to pull and unpack image %q: failed to resolve reference %q", n, n)
}

func manifestURL(n reference.Named) string {
	what := "latest"
	if t, ok := n.(reference.Tagged); ok {
		what = t.Tag()
	}
	return fmt.Sprintf("https://%s/v2/%s/manifests/%s", reference.Domain(n), reference.Path(n), what)
}

// pull is a download under way.
type pull struct {
	image string
	size  int64
	done  atomic.Int64
}

// Pull is the progress of a download.
type Pull struct {
	Image       string `json:"image"`
	Bytes, Size int64
}

// Pulls returns the downloads that are under way, by name.
func (s *Server) Pulls() []Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Pull, 0, len(s.pulls))
	for p := range s.pulls {
		all = append(all, Pull{p.image, p.done.Load(), p.size})
	}
	slices.SortFunc(all, func(a, b Pull) int { return strings.Compare(a.Image, b.Image) })
	return all
}

// PullImage pulls an image, in a time that follows from the image's size.
func (s *Server) PullImage(ctx context.Context, r *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	name, err := parseRef(r.GetImage().GetImage())
	if err != nil {
		return nil, err
	}
	b, err := s.pullBehaviour(r)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if !b.aboutImage(r.GetImage().GetImage()) {
		b = behaviour{}
	}
	if err := s.failPull(ctx, r, name, b); err != nil {
		return nil, err
	}
	if b.pullAuth != "" && b.pullAuth != r.GetAuth().GetUsername()+":"+r.GetAuth().GetPassword() {
		return nil, pullFaults["unauthorized"](name)
	}
	sc := s.scenario.Load()
	i := sc.newImage(name)
	took := b.pullTime
	if took == 0 {
		took = time.Duration(float64(i.size) / float64(sc.pullSpeed()) * float64(time.Second))
	}
	if err := s.download(ctx, name.String(), i.size, took); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &runtimeapi.PullImageResponse{ImageRef: s.addImage(i).id}, nil
}

// pullBehaviour returns the behaviour of the pod for which an image is pulled, if the request names the pod.
func (s *Server) pullBehaviour(r *runtimeapi.PullImageRequest) (behaviour, error) {
	config := r.GetSandboxConfig()
	annotations := config.GetAnnotations()
	if config == nil {
		annotations = r.GetImage().GetAnnotations()
	}
	m := config.GetMetadata()
	return s.scenario.Load().behaviourOf(podName{m.GetNamespace(), m.GetName()}, "", r.GetImage().GetImage(), annotations)
}

// aboutImage reports whether the settings for pulls are for this image.
func (b behaviour) aboutImage(image string) bool {
	return b.pullImage == "" || match(b.pullImage, image)
}

func (s *Server) failPull(ctx context.Context, r *runtimeapi.PullImageRequest, name reference.Named, b behaviour) error {
	if b.pull == "" && strings.Contains(name.String(), nowhere) {
		b.pull = "not-found"
	}
	if b.pull == "" || !s.strikes(r.GetSandboxConfig().GetMetadata().GetUid(), "", "pull "+name.String(), b.pullTimes) {
		return nil
	}
	if b.pull == "hang" {
		return pass(ctx, forever)
	}
	if err := pass(ctx, b.pullTime); err != nil {
		return err
	}
	return pullFaults[b.pull](name)
}

// pieces is how many steps a download has.
const pieces = 20

func (s *Server) download(ctx context.Context, name string, size int64, took time.Duration) error {
	p := &pull{image: name, size: size}
	s.mu.Lock()
	s.pulls[p] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.pulls, p)
		s.mu.Unlock()
	}()
	for i := range pieces {
		if err := pass(ctx, took/pieces); err != nil {
			return err
		}
		p.done.Store(size * int64(i+1) / pieces)
	}
	s.opts.Log.Info("pulled", "image", name, "bytes", size)
	return nil
}
