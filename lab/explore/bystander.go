package explore

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bystanders are plain pods that come and go, one after the other, with nothing broken.
type bystanders struct {
	mu   sync.Mutex
	past []bystander
}

// bystander is one of them: it was created, and became Ready or did not.
type bystander struct {
	created, over time.Time
	harmed        bool
}

const bystanderNamespace = "bystander"

// bystanderWithin is how long a bystander may take: several times as long as it takes on a busy machine.
const bystanderWithin = 20 * time.Second

// run makes bystanders until ctx ends.
func (b *bystanders) run(ctx context.Context, n *Node) error {
	if err := n.makeNamespace(ctx, bystanderNamespace); err != nil {
		return fmt.Errorf("make bystanders: %w", err)
	}
	for i := 1; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("bystander-%d", i)
		began := time.Now()
		if err := n.create(ctx, plainPod(name)); err != nil {
			continue // the run ends, or the API server is busy
		}
		err := until(ctx, bystanderWithin, func() bool { return ready(n.pod(bystanderNamespace, name)) })
		if ctx.Err() == nil {
			b.add(bystander{began, time.Now(), err != nil})
		}
		n.remove(bystanderNamespace, name)
		_ = until(ctx, time.Second, func() bool { return false })
	}
	return nil
}

func plainPod(name string) *corev1.Pod {
	now := int64(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: bystanderNamespace},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &now, Containers: []corev1.Container{{
			Name: "app", Image: "docker.io/library/busybox:1.35", ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"sleep", "1000000"},
		}}},
	}
}

func (b *bystanders) add(one bystander) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.past = append(b.past, one)
}

// between returns how many bystanders were there in a time, and how many of them were harmed.
func (b *bystanders) between(from, to time.Time) (of, harmed int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.past {
		if one.created.Before(to) && one.over.After(from) {
			of++
			if one.harmed {
				harmed++
			}
		}
	}
	return of, harmed
}
