# Prints check vectors for number-theoretic transforms, computed two ways by naive host arithmetic; ntt_vectors.txt is its
# output: python3 tests/data/ntt_vectors.py. Input i of a vector is splitmix64(i) modulo p, as that of run ntt --seed 0.
import hashlib
# ---------- fields ----------
F={'babybear':(2**31-2**27+1,31,27,4),'koalabear':(2**31-2**24+1,3,24,4),'goldilocks':(2**64-2**32+1,7,32,8),
   'bn254_fr':(21888242871839275222246405745257275088548364400416034343698204186575808495617,5,28,32),
   'bls12_381_fr':(0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001,7,32,32)}
def splitmix(i):
    M=2**64-1; z=(i+1)*0x9E3779B97F4A7C15&M
    z=((z^(z>>30))*0xBF58476D1CE4E5B9)&M; z=((z^(z>>27))*0x94D049BB133111EB)&M
    return z^(z>>31)
def ntt(a,p,w):
    n=len(a)
    if n==1: return a
    if n==2: return [(a[0]+a[1])%p,(a[0]-a[1])%p]
    e=ntt(a[0::2],p,w*w%p); o=ntt(a[1::2],p,w*w%p); r=[0]*n; t=1; h=n//2
    for i in range(h):
        v=t*o[i]%p; r[i]=(e[i]+v)%p; r[i+h]=(e[i]-v)%p; t=t*w%p
    return r
# Extends a column to 2^bl cosets, with padded coefficients and one transform; rows in bit-reversed order.
def lde(x,p,g,bl):
    n=len(x); N=n<<bl
    c=[v*pow(n,-1,p)%p for v in ntt(x,p,pow(g,-((p-1)//n),p))]
    e=ntt([v*pow(g,i,p)%p for i,v in enumerate(c)]+[0]*(N-n),p,pow(g,(p-1)//N,p))
    return [e[int(bin(N+r)[:2:-1],2)] for r in range(N)]
# Poseidon2 of width 16 as Plonky3 has it: constants by Grain, S-box x^d, RP partial rounds, diagonal V with h(k) = 1/2^k.
def poseidon2(f,p):
    koala=f=='koalabear'; d,RP=(3,20) if koala else (7,13); h=lambda k: pow(2,-k,p)
    V=[-2,1,2,h(1),3,4,-h(1),-3,-4,h(8)]+([h(3),h(24),-h(8),-h(3),-h(4),-h(24)] if koala else [h(2),h(3),h(27),-h(8),-h(4),-h(27)])
    s=[int(c) for v,w in ((1,2),(0,4),(31,12),(16,12),(8,10),(RP,10)) for c in f'{v:0{w}b}']+[1]*30
    def clock():
        s.append(s[0]^s[13]^s[23]^s[38]^s[51]^s[62]); s.pop(0); return s[-1]
    for _ in range(160): clock()
    C=[]
    while len(C)<128+RP:
        v=n=0
        while n<31:
            a,c=clock(),clock()
            if a: v,n=2*v+c,n+1
        if v<p: C.append(v)
    M=[[2,3,1,1],[1,2,3,1],[1,1,2,3],[3,1,1,2]]
    def mix(x):
        x=[sum(M[i%4][j]*x[i//4*4+j] for j in range(4)) for i in range(16)]
        return [(x[i]+sum(x[i%4::4]))%p for i in range(16)]
    def permute(x):
        x,c=mix(x),iter(C)
        for r in range(8+RP):
            if 4<=r<4+RP:
                x[0]=pow(x[0]+next(c),d,p); t=sum(x); x=[(t+v*y)%p for v,y in zip(V,x)]
            else: x=mix([pow(y+next(c),d,p) for y in x])
        return x
    return permute
def commit(permute,rows):
    level=[]
    for row in rows:
        x=[0]*16
        for i in range(0,len(row),8): x=permute(row[i:i+8]+x[len(row[i:i+8]):])
        level.append(x[:8])
    while len(level)>1: level=[permute(a+b)[:8] for a,b in zip(level[::2],level[1::2])]
    return level[0]
for f,(p,g,ad,b) in F.items():
    root=pow(g,(p-1)>>ad,p)
    assert pow(root,2**ad,p)==1 and pow(root,2**(ad-1),p)==p-1
    print(f,'two-adicity',ad,'root of order 2^%d ='%ad,hex(root))
    x=list(range(1,9)); w=pow(g,(p-1)>>3,p); y=ntt(x,p,w)
    naive=[sum(x[i]*pow(w,i*k,p) for i in range(8))%p for k in range(8)]; assert y==naive
    print('   n=8 x=1..8:', [hex(v) for v in y] if b<32 else [hex(y[0]),hex(y[1])])
    for lg in (10,16):
        n=1<<lg; w=pow(g,(p-1)>>lg,p); x=[splitmix(i)%p for i in range(n)]; y=ntt(x,p,w)
        k=n//3; s=0; wk=pow(w,k,p); t=1
        for v in x: s=(s+v*t)%p; t=t*wk%p
        assert s==y[k]
        d=hashlib.sha256(b''.join(v.to_bytes(b,'little') for v in y)).hexdigest()
        print('   n=2^%d sha256'%lg,d)
    for lg,bl,C in ((10,1,3),(9,3,2)):
        n=1<<lg; columns=[[splitmix(c*n+i)%p for i in range(n)] for c in range(C)]
        d=hashlib.sha256(b''.join(v.to_bytes(b,'little') for x in columns for v in lde(x,p,g,bl))).hexdigest()
        print('   lde n=2^%d columns %d blow-up %d'%(lg,C,1<<bl),d)
    if f in ('babybear','koalabear'):
        permute=poseidon2(f,p)
        print('   poseidon2 0..15:',*permute(list(range(16)))[:8])
        print('   commit n=16 columns 20 blow-up 1, m = 20 r + c:',*commit(permute,[[20*r+c for c in range(20)] for r in range(16)]))
        for lg,bl,C in ((6,1,20),(5,2,43)):
            n=1<<lg; columns=[lde([splitmix(c*n+i)%p for i in range(n)],p,g,bl) for c in range(C)]
            print('   commit n=2^%d columns %d blow-up %d:'%(lg,C,1<<bl),*commit(permute,[list(row) for row in zip(*columns)]))
