"""Methods of skill discovery, all of one shape, on the same loop and learners. Each file makes itself known by name;
a line here imports it."""

from vendirl.methods.becl import BeCL as BeCL
from vendirl.methods.cic import CIC as CIC
from vendirl.methods.combined import Combined as Combined
from vendirl.methods.combined import terms as terms
from vendirl.methods.csf import CSF as CSF
from vendirl.methods.dads import DADS as DADS
from vendirl.methods.diayn import DIAYN as DIAYN
from vendirl.methods.diayn_sn import DIAYNSN as DIAYNSN
from vendirl.methods.disk import DISk as DISk
from vendirl.methods.eigenoptions import Eigenoptions as Eigenoptions
from vendirl.methods.fitted import Fitted as Fitted
from vendirl.methods.lsd import LSD as LSD
from vendirl.methods.method import Method as Method
from vendirl.methods.metra import METRA as METRA
from vendirl.methods.problem import Problem as Problem
from vendirl.methods.published import Published as Published
from vendirl.methods.published import Recipe as Recipe
from vendirl.methods.random import FromEnvironment as FromEnvironment
from vendirl.methods.random import Random as Random
from vendirl.methods.registry import known as known
from vendirl.methods.registry import parse_method as parse_method
from vendirl.methods.registry import register as register
from vendirl.methods.vendirl import VendiRL as VendiRL
from vendirl.methods.vic import RVIC as RVIC
from vendirl.methods.vic import VIC as VIC
from vendirl.methods.visr import APS as APS
from vendirl.methods.visr import VISR as VISR
from vendirl.methods.wurl import WURL as WURL
