package reduce

import "math/rand/v2"

// list is the list of messages: a treap in the order of the conversation. Inserting
// a tool result behind those of the same assistant message, and comparing the places
// of two messages, take logarithmic time, however many messages and results there
// are.
type list struct {
	root, last *node
	len        int
}

// node is the place of a message.
type node struct {
	*Message
	up, left, right *node
	priority        uint32
	other           bool // the subtree contains a message that is not a tool result
}

// all calls yield for each node in order.
func (l *list) all(yield func(n *node) bool) {
	for n := l.root.leftmost(); n != nil; n = n.next() {
		if !yield(n) {
			return
		}
	}
}

// push appends a message.
func (l *list) push(m *Message) *node {
	n := l.newNode(m)
	if l.last == nil {
		l.root = n
	} else {
		l.last.right, n.up = n, l.last
	}
	l.last = n
	l.settle(n)
	return n
}

// insertResult inserts a message behind n and the tool results that follow n.
func (l *list) insertResult(n *node, m *Message) *node {
	before := n.nextOther()
	if before == nil {
		return l.push(m)
	}
	x := l.newNode(m)
	if before.left == nil {
		before.left, x.up = x, before
	} else {
		at := before.left
		for at.right != nil {
			at = at.right
		}
		at.right, x.up = x, at
	}
	l.settle(x)
	return x
}

// replace replaces the message of a node.
func (l *list) replace(n *node, m *Message) {
	n.Message = m
	for ; n != nil; n = n.up {
		n.update()
	}
}

func (l *list) newNode(m *Message) *node {
	l.len++
	return &node{Message: m, priority: rand.Uint32()}
}

// settle restores the order of priorities after n was added as a leaf.
func (l *list) settle(n *node) {
	n.update()
	for n.up != nil && n.up.priority < n.priority {
		l.rotate(n)
	}
	for up := n.up; up != nil && n.other && !up.other; up = up.up {
		up.other = true
	}
	if n.up == nil {
		l.root = n
	}
}

// rotate exchanges n and its parent.
func (l *list) rotate(n *node) {
	up := n.up
	var moved *node
	if up.left == n {
		moved = n.right
		up.left, n.right = moved, up
	} else {
		moved = n.left
		up.right, n.left = moved, up
	}
	if moved != nil {
		moved.up = up
	}
	n.up, up.up = up.up, n
	switch {
	case n.up == nil:
	case n.up.left == up:
		n.up.left = n
	default:
		n.up.right = n
	}
	up.update()
	n.update()
}

func (n *node) update() {
	n.other = !n.isResult() || n.left != nil && n.left.other || n.right != nil && n.right.other
}

func (n *node) leftmost() *node {
	for n != nil && n.left != nil {
		n = n.left
	}
	return n
}

func (n *node) next() *node {
	if n.right != nil {
		return n.right.leftmost()
	}
	for n.up != nil && n.up.right == n {
		n = n.up
	}
	return n.up
}

// nextOther returns the first node after n that is not a tool result, or nil.
func (n *node) nextOther() *node {
	if n.right != nil && n.right.other {
		return n.right.firstOther()
	}
	for n.up != nil {
		from := n
		n = n.up
		if n.left != from {
			continue
		}
		if !n.isResult() {
			return n
		}
		if n.right != nil && n.right.other {
			return n.right.firstOther()
		}
	}
	return nil
}

// firstOther returns the first node in a subtree that is not a tool result. There is
// one.
func (n *node) firstOther() *node {
	for {
		switch {
		case n.left != nil && n.left.other:
			n = n.left
		case !n.isResult():
			return n
		default:
			n = n.right
		}
	}
}

// before reports whether n precedes o, which is another node of the list.
func (n *node) before(o *node) bool {
	depth := func(n *node) (d int) {
		for ; n.up != nil; n = n.up {
			d++
		}
		return d
	}
	a, b := n, o
	da, db := depth(a), depth(b)
	var fromA, fromB *node // the last step
	for ; da > db; da-- {
		fromA, a = a, a.up
	}
	for ; db > da; db-- {
		fromB, b = b, b.up
	}
	for a != b {
		fromA, a = a, a.up
		fromB, b = b, b.up
	}
	switch {
	case fromA == nil: // n is above o
		return a.right == fromB
	default:
		return a.left == fromA
	}
}
