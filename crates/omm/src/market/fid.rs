//! Field ids that the item domains are known by.

macro_rules! fids {
    ($($id:literal $name:ident $text:literal,)*) => {
        $(
            #[doc = $text]
            pub const $name: i16 = $id;
        )*
    };
}

fids! {
    1 PROD_PERM "Product permission number.",
    2 RDNDISPLAY "Display template.",
    3 DSPLY_NAME "Name for display.",
    4 RDN_EXCHID "Exchange.",
    6 TRDPRC_1 "Price of the last trade.",
    15 CURRENCY "Currency.",
    22 BID "Bid price.",
    25 ASK "Ask price.",
    30 BIDSIZE "Bid size.",
    31 ASKSIZE "Ask size.",
    32 ACVOL_1 "Volume of the day.",
    53 TRD_UNITS "Number of decimals of prices.",
    118 PRC_QL_CD "Price qualifier.",
    131 PRC_QL2 "Second price qualifier.",
    133 MKT_ST_IND "State of the market.",
    212 MKT_MKR_ID "Market maker.",
    213 MKT_SOURCE "Where the quote of a market maker comes from.",
    214 MKT_MKR_NM "Name of a market maker.",
    1026 STOCK_RIC "Instrument code of the stock.",
    1709 RDN_EXCHD2 "Exchange.",
    3422 PROV_SYMB "Symbol at the provider.",
    3423 PR_RNK_RUL "How prices are ranked.",
    3425 OR_RNK_RUL "How orders are ranked.",
    3426 ORDER_ID "Order; the key of a book by order.",
    3427 ORDER_PRC "Price of an order or price level.",
    3428 ORDER_SIDE "Side of an order or price level: 1 bid, 2 ask.",
    3429 ORDER_SIZE "Size of an order or price level.",
    3430 NO_ORD "Number of orders in a price level.",
    3435 MMID "Market maker within a price level.",
    3855 QUOTIM_MS "Time of the quote, in milliseconds since midnight.",
    3902 TIM_TRK_1 "Time at which an update was made, for latency measurements.",
    3903 TIM_TRK_2 "Time at which a post was made, for latency measurements.",
    3904 TIM_TRK_3 "Time at which a generic message was made, for latency measurements.",
}
