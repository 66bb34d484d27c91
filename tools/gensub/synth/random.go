package synth

import (
	"crypto/sha512"
	"encoding/binary"
	"math/bits"
)

// random is Python's random.Random: the Mersenne Twister MT19937, seeded from
// text the way CPython does it (seed version 2), with the derived draws of
// CPython 3.9 and later. It exists so that the generator keeps the bytes it
// always had; math/rand has no such sequence.
type random struct {
	state [stateSize]uint32
	next  int
}

const (
	stateSize = 624
	period    = 397
)

// newRandom seeds from text: the number whose big-endian bytes are the text
// followed by its SHA-512, cut into 32-bit words, least significant first. The
// text must not begin with a zero byte.
func newRandom(seed string) *random {
	sum := sha512.Sum512([]byte(seed))
	number := append([]byte(seed), sum[:]...)
	if pad := -len(number) & 3; pad > 0 {
		number = append(make([]byte, pad), number...)
	}
	key := make([]uint32, len(number)/4)
	for i := range key {
		key[len(key)-1-i] = binary.BigEndian.Uint32(number[4*i:])
	}
	r := new(random)
	r.seedWords(key)
	return r
}

// seedWords is init_by_array of the reference implementation.
func (r *random) seedWords(key []uint32) {
	s := &r.state
	s[0] = 19650218
	for i := 1; i < stateSize; i++ {
		s[i] = 1812433253*(s[i-1]^s[i-1]>>30) + uint32(i)
	}
	i, j := 1, 0
	step := func() {
		if i++; i == stateSize {
			s[0], i = s[stateSize-1], 1
		}
	}
	for range max(stateSize, len(key)) {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + key[j] + uint32(j)
		step()
		if j++; j == len(key) {
			j = 0
		}
	}
	for range stateSize - 1 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		step()
	}
	s[0] = 1 << 31
	r.next = stateSize
}

func (r *random) word() uint32 {
	if r.next == stateSize {
		r.twist()
	}
	y := r.state[r.next]
	r.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (r *random) twist() {
	s := &r.state
	for i := range s {
		y := s[i]&(1<<31) | s[(i+1)%stateSize]&(1<<31-1)
		s[i] = s[(i+period)%stateSize] ^ y>>1 ^ -(y&1)&0x9908b0df
	}
	r.next = 0
}

// float draws a number in [0, 1) with 53 bits.
func (r *random) float() float64 {
	high, low := r.word()>>5, r.word()>>6
	return float64(uint64(high)<<26+uint64(low)) / (1 << 53)
}

// below draws a whole number in [0, n), 0 < n < 1<<32.
func (r *random) below(n int) int {
	shift := 32 - bits.Len32(uint32(n))
	for {
		if x := int(r.word() >> shift); x < n {
			return x
		}
	}
}

// between draws a whole number in [low, high).
func (r *random) between(low, high int) int { return low + r.below(high-low) }

// bytes draws n bytes. What a last, partial word gives are its upper bits.
func (r *random) bytes(n int) []byte {
	out := make([]byte, 0, n+3)
	for ; n >= 4; n -= 4 {
		out = binary.LittleEndian.AppendUint32(out, r.word())
	}
	if n > 0 {
		out = binary.LittleEndian.AppendUint32(out, r.word()>>(32-8*n))[:len(out)+n]
	}
	return out
}

// choice draws one of list.
func choice[T any](r *random, list []T) T { return list[r.below(len(list))] }
