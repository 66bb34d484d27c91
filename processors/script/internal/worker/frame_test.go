package worker

import (
	"bufio"
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone/processors/script/internal/js"
)

func TestJobsAndResultsComeThroughFrames(t *testing.T) {
	for _, job := range []*js.Job{
		{Name: "n", Text: "t", Stage: "file", Timeout: 1500 * time.Millisecond, Envelope: []byte("{}")},
		{Stage: "nodes", Envelope: []byte{}, Nodes: [][]byte{[]byte(`{"a":1}`), {}}},
		{Envelope: []byte{}, Nodes: [][]byte{}},
	} {
		var out bytes.Buffer
		if err := putJob(job).write(&out, kindRun); err != nil {
			t.Fatal(err)
		}
		f, err := readFrame(bufio.NewReader(&out))
		if err != nil || f.kind != kindRun || out.Len() > 0 {
			t.Fatalf("frame %c, %v", f.kind, err)
		}
		got, err := takeJob(f.payload)
		if err != nil || !reflect.DeepEqual(got, job) {
			t.Errorf("got %+v, %v; want %+v", got, err, job)
		}
	}
	res := &js.Result{
		Envelope: []byte("{}"), Warnings: [][]byte{[]byte("{}")},
		Nodes: []js.Patch{{Base: -1, Set: []js.Member{{Key: "name", Value: []byte(`"x"`)}}}, {Base: 1, Own: true}, {Base: 0, Del: []string{"tls", ""}}},
	}
	got, err := takeResult(putResult(res), 2)
	if err != nil || !reflect.DeepEqual(got, res) {
		t.Errorf("got %+v, %v; want %+v", got, err, res)
	}
	if _, err := takeResult(putResult(res), 1); err == nil {
		t.Error("a node that is none of the input was taken")
	}
	if _, err := takeResult([]byte{0, 0, 0, 1, 1, 0, 0}, 1); err == nil {
		t.Error("a new node was taken for one of the input")
	}
}

func TestAFrameThatIsTooLargeIsNotRead(t *testing.T) {
	if _, err := readFrame(bufio.NewReader(bytes.NewReader([]byte{0, 0, 0, 0xff, 'D'}))); err != errFrame {
		t.Errorf("got %v", err)
	}
	if err := writeFrame(&bytes.Buffer{}, kindDone, make([]byte, maxFrame+1)); err != errFrame {
		t.Errorf("got %v", err)
	}
}

// Whatever a worker says, its parent reads a sound result or none.
func FuzzResult(f *testing.F) {
	f.Add(putResult(&js.Result{Envelope: []byte("{}"), Nodes: []js.Patch{{Base: 0, Del: []string{"a"}}}}), 1)
	f.Add([]byte{1, 0, 0, 0}, 0)
	f.Add(bytes.Repeat([]byte{0xff}, 20), 5)
	f.Fuzz(func(t *testing.T, payload []byte, nodes int) {
		res, err := takeResult(payload, nodes)
		if err != nil {
			return
		}
		for _, p := range res.Nodes {
			if p.Base < -1 || p.Base >= max(nodes, 0) {
				t.Fatalf("base %d of %d nodes", p.Base, nodes)
			}
		}
		if again, err := takeResult(putResult(res), nodes); err != nil || !reflect.DeepEqual(again, res) {
			t.Fatalf("%+v came back as %+v, %v", res, again, err)
		}
	})
}
