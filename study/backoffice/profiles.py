"""The built-in profiles as data: `natural`, `compact`, and `drill` for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from study.backoffice.profile import TEMPLATES, IdPool, Language, Profile, WorldProfile
from study.errors import ConfigError


def _words(text: str, separator: str = " ") -> tuple[str, ...]:
    return tuple(text.split(separator))


_FIRST_NAMES = _words(
    "Adele Amir Anouk Arjun Beatriz Bruno Camille Chidi Clara Dario Dilara Edith Elif Emeka Esther Farid Fiona "
    "Gaspard Greta Hana Hugo Ilse Imran Ines Ivo Jana Jonas Kavya Kenji Lars Leila Lotte Lucia Magnus Maren Mateo "
    "Meera Mila Nadia Niko Noor Olga Oscar Paula Pedro Priya Rahel Rosa Samir Sofia Soren Tamar Theo Tomas Uma "
    "Vera Viktor Wanda Yara Yusuf Zoe Alma Basil Cosmo"
)
_LAST_NAMES = _words(
    "Abara Acosta Almeida Anders Baptiste Barros Becker Bianchi Bjork Brandt Castellano Chandra Coelho Dahl Danso "
    "Demir Dubois Eklund Endo Fabre Ferrari Fischer Fontaine Garza Gruber Haddad Hansen Hartmann Horvat Ibarra "
    "Iyer Jansen Jovanovic Kaplan Keller Khoury Kovacs Laurent Lindqvist Lombardi Maurer Mbeki Mendes Moreau "
    "Nakata Navarro Novak Okafor Olsen Ortega Petrov Quintero Rossi Sandoval Sato Schreiber Silva Sorensen Tanaka "
    "Toure Valdez Vogel Weiss Yilmaz"
)
_STREETS = _words(
    "Alder Lane,Beacon Street,Birch Avenue,Canal Street,Cedar Court,Chapel Road,Chestnut Street,Clover Way,"
    "Dogwood Drive,Elm Street,Fern Hollow Road,Foundry Street,Garden Terrace,Grove Street,Harbor View,Hazel Road,"
    "Hillcrest Avenue,Juniper Lane,Lakeside Drive,Larch Street,Laurel Court,Linden Street,Magnolia Avenue,"
    "Maple Street,Market Street,Meadow Lane,Mill Road,Myrtle Street,Oak Street,Orchard Road,Park Row,Pine Street,"
    "Poplar Avenue,Quarry Road,Railway Street,River Road,Rowan Street,School Lane,Spruce Street,Station Road,"
    "Sycamore Street,Tanner Street,Union Street,Valley Road,Vine Street,Walnut Street,Willow Court,Windmill Lane",
    separator=",",
)
_PLACES = (
    ("Cambridge", "02139"),
    ("Providence", "02903"),
    ("Hartford", "06103"),
    ("Portland", "04101"),
    ("Burlington", "05401"),
    ("Hoboken", "07030"),
    ("Trenton", "08608"),
    ("Albany", "12207"),
    ("Pittsburgh", "15222"),
    ("Richmond", "23219"),
    ("Savannah", "31401"),
    ("Nashville", "37203"),
    ("Columbus", "43215"),
    ("Ann Arbor", "48104"),
    ("Madison", "53703"),
    ("Duluth", "55802"),
    ("Omaha", "68102"),
    ("Austin", "78701"),
    ("Boulder", "80302"),
    ("Boise", "83702"),
    ("Santa Fe", "87501"),
    ("Oakland", "94607"),
    ("Eugene", "97401"),
    ("Tacoma", "98402"),
)
_PRODUCTS = _words(
    "bath towel set,bookend pair,bread box,canvas backpack,ceramic planter,coffee grinder,cork board,cutting board,"
    "desk lamp,door mat,electric kettle,floor cushion,garden hose,hand mixer,ironing board,key cabinet,kitchen scale,"
    "laundry basket,letter tray,magazine rack,mantel clock,milk frother,mirror tile,paper shredder,picture frame,"
    "pillow case,pocket radio,rain gauge,salad spinner,shoe rack,shower curtain,soap dispenser,spice rack,"
    "step ladder,storage crate,table fan,tool box,travel mug,wall hook set,watering can",
    separator=",",
)

NATURAL = Profile(
    name="natural",
    world=WorldProfile(
        customers=9,
        products=8,
        orders=18,
        page_size=5,
        order_ids=IdPool("O-", 10000, 99999),
        customer_ids=IdPool("C-", 1000, 9999, partitioned=True),
        product_ids=IdPool("P-", 100, 999),
        first_names=_FIRST_NAMES,
        last_names=_LAST_NAMES,
        address_fields=("street", "city", "postal_code"),
        streets=_STREETS,
        places=_PLACES,
        product_names=_PRODUCTS,
        line_amounts=(450, 799, 1200, 1495, 1950, 2300, 2749, 3200, 4125, 5400, 6875, 8999, 12000, 14950),
        priced_lines=True,
        quantities=(1, 1, 1, 2, 2, 3),
        lines=3,
        partly_reserved=True,
        refund_lines=(2, 3),
        stock=(4, 40),
        carriers=("Northwind", "ParcelJet", "BlueVan", "Citypost"),
        topics=("delivery", "billing", "damaged item", "missing part", "account", "warranty"),
        levels=("standard", "priority", "urgent"),
        address_forms=("given", "home"),
    ),
    language=Language(
        results="json",
        requests=(
            (
                "address_given",
                (
                    "{customer} is moving: the order with the {product} should go to {address} instead.",
                    "please change the delivery address of {customer}'s order with the {product} to {address}.",
                    "{customer} wants the order containing the {product} delivered to {address}.",
                ),
            ),
            (
                "address_home",
                (
                    "order {order} has the wrong delivery address; send it to the customer's home address on file.",
                    "please redirect order {order} to the home address that we have on file for its customer.",
                    "change the delivery address of order {order} to the home address in the customer's record.",
                ),
            ),
            (
                "cancel_pending",
                (
                    "cancel order {order}, which has not been paid yet.",
                    "order {order} is still unpaid and no longer wanted; please cancel it.",
                    "please cancel the pending order {order}.",
                ),
            ),
            (
                "cancel_refund",
                (
                    "cancel order {order} and refund everything that was paid for it.",
                    "the customer no longer wants order {order}: cancel it and return the full amount.",
                    "please cancel the paid order {order} and issue a full refund.",
                ),
            ),
            (
                "partial_refund",
                (
                    "refund the {product} from the delivered order {order}, and nothing else.",
                    "the {product} in order {order} came back to us; refund that line only.",
                    "please refund what was paid for the {product} in order {order}.",
                ),
            ),
            (
                "reserve_ship",
                (
                    "order {order} is paid but not fully reserved: reserve what is missing and ship it with {carrier}.",
                    "reserve the missing stock for order {order}, then schedule its shipment with {carrier}.",
                    "please reserve the rest of order {order} and send it by {carrier}.",
                ),
            ),
            (
                "ship_reserved",
                (
                    "{customer} has an order whose stock is reserved; ship it with {carrier}.",
                    "please send out {customer}'s reserved order by {carrier}.",
                    "schedule the shipment of the order reserved for {customer}, carrier {carrier}.",
                ),
            ),
            (
                "ticket_order",
                (
                    "open a {topic} ticket for order {order}, with the priority of its customer's service level.",
                    "please file a {topic} ticket about order {order}; its priority is the customer's service level.",
                ),
            ),
            (
                "ticket_customer",
                (
                    "open a {topic} ticket for {customer}, about no order, with the priority of their service level.",
                    "{customer} has a {topic} question that concerns no order: open a ticket, its priority being their "
                    "service level.",
                ),
            ),
        ),
        openings=("", "Hello, ", "Good morning, ", "Hi, "),
        joiners=(" Then ", " Also, ", " Besides that, ", " And "),
        closings=("", " Thanks.", " Thank you!"),
        free_text=True,
    ),
)


def _closed(prefix: str, high: int = 8) -> IdPool:
    return IdPool(prefix, 1, high)


COMPACT = Profile(
    name="compact",
    world=WorldProfile(
        customers=4,
        products=4,
        orders=6,
        page_size=3,
        order_ids=_closed("O"),
        customer_ids=_closed("C"),
        product_ids=_closed("P"),
        first_names=tuple(f"N{n}" for n in range(1, 9)),
        last_names=(),
        address_fields=("address",),
        streets=tuple(f"A{n}" for n in range(1, 9)),
        places=(),
        product_names=(),
        line_amounts=(1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500),
        priced_lines=False,
        quantities=(1, 2, 3),
        lines=1,
        partly_reserved=False,
        refund_lines=(2, 2),
        stock=(3, 6),
        carriers=("X1", "X2", "X3"),
        topics=("T1", "T2", "T3", "T4"),
        levels=("L1", "L2", "L3"),
        address_forms=("home",),
    ),
    language=Language(
        results="compact",
        requests=(
            ("address_home", ("move {order} home",)),
            ("cancel_pending", ("cancel {order}",)),
            ("cancel_refund", ("cancel {order} refund",)),
            ("partial_refund", ("refund {product} of {order}",)),
            ("reserve_ship", ("reserve {order} by {carrier}",)),
            ("ship_reserved", ("ship of {customer} by {carrier}",)),
            ("ticket_order", ("ticket {order} on {topic}",)),
            ("ticket_customer", ("ticket of {customer} on {topic}",)),
        ),
        openings=("",),
        joiners=(" , ",),
        closings=("",),
        free_text=False,
    ),
)

_THREE = range(1, 4)
_CANCELLATIONS = ("cancel_pending", "cancel_refund")

DRILL = replace(
    COMPACT,
    name="drill",
    world=replace(
        COMPACT.world,
        customers=3,
        products=3,
        orders=3,
        order_ids=_closed("O", 3),
        customer_ids=_closed("C", 3),
        product_ids=_closed("P", 3),
        first_names=tuple(f"N{n}" for n in _THREE),
        streets=tuple(f"A{n}" for n in _THREE),
        template_weights=tuple(int(name in _CANCELLATIONS) for name in TEMPLATES),
        count_weights=(1, 0, 0),
    ),
)
"""One cancellation a task, three of everything: a policy of 0.2 million parameters succeeds at a third of the tasks
after seconds of imitation, so that a test can train it. Its pools repeat each other's requests. Nothing is measured
on it."""

PROFILES: Mapping[str, Profile] = MappingProxyType({one.name: one for one in (NATURAL, COMPACT, DRILL)})


def profile_named(name: str) -> Profile:
    """A built-in profile.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in PROFILES:
        raise ConfigError("no such profile", expected=" or ".join(PROFILES), found=name)
    return PROFILES[name]
